# Completion of hipq-web for bash: its options, and the folder of the page.
_hipq_web()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local with_value=' --dbname -d --listen -l --behind-proxy --idle --lifetime --max-sessions --page '
    local switches='--service --help --version'

    case $previous in
    --page) COMPREPLY=($(compgen -d -- "$current")) ;;
    *)
        if [[ $current == -* ]]; then
            COMPREPLY=($(compgen -W "$with_value $switches" -- "$current"))
        fi
        ;;
    esac
}

complete -F _hipq_web hipq-web
