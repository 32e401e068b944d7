# Compiles each direct subfolder of the given folder as one translation unit, as the Makefile does.
# With UNITY=OFF each source is compiled by itself.
function(compile_by_room target folder)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
        file(RELATIVE_PATH path ${folder} ${source})
        string(REGEX REPLACE "^((shared|admin)/[^/]*|[^/]*)/.*" "\\1" room ${path})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
