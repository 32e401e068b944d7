# Completion of hipq-top for bash: its options, and names of columns.
_hipq_top()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local with_value=' --host -h --port -p --username -U --dbname -d --delay --sort -s --lines -n '
    local switches='--once --batch --read-only --help --version'

    case $previous in
    --sort | -s) COMPREPLY=($(compgen -W 'busy queue backlog running per_min failed p50 p99 oldest state' -- "$current")) ;;
    *)
        if [[ $current == -* ]]; then
            COMPREPLY=($(compgen -W "$with_value $switches" -- "$current"))
        fi
        ;;
    esac
}

complete -F _hipq_top hipq-top
