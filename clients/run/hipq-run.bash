# Completion of hipq-run for bash: its options, files, and the program at the end with its arguments.
_hipq_run()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
    local with_value=' --dbname -d --queue -q --types -t --jobs -j --prefetch --name --capabilities --idle --grace --kill-after
        --on-failure --max-output --config -c --log --log-level --metrics --traces '
    local switches='--take-over --poll --batch --once --drain --help --version'

    if [[ ${COMP_WORDS[1]} == doctor && $COMP_CWORD -gt 1 ]]; then
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
        --fail-on) COMPREPLY=($(compgen -W 'error warning never' -- "$current")) ;;
        --dbname | -d) ;;
        *) COMPREPLY=($(compgen -W '--dbname -d --format --fail-on --help --version' -- "$current")) ;;
        esac
        return
    fi

    # From the program's name on, its own completion takes over.
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
        --) _hipq_run_program $((i + 1)); return ;;
        -*) [[ $with_value == *[[:space:]]${COMP_WORDS[i]}[[:space:]]* ]] && ((++i)) ;;
        =) ((++i)) ;;
        *) _hipq_run_program "$i"; return ;;
        esac
    done

    case $previous in
    --on-failure) COMPREPLY=($(compgen -W 'retry final' -- "$current")) ;;
    --log) COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
    --log-level) COMPREPLY=($(compgen -W 'info warning error' -- "$current")) ;;
    --config | -c) COMPREPLY=($(compgen -f -- "$current")) ;;
    *)
        if [[ $current == -* ]]; then
            COMPREPLY=($(compgen -W "$with_value $switches --" -- "$current"))
        elif [[ $with_value != *[[:space:]]$previous[[:space:]]* ]]; then
            COMPREPLY=($(compgen -c -- "$current"))
            [[ $COMP_CWORD == 1 && doctor == "$current"* ]] && COMPREPLY+=(doctor)
        fi
        ;;
    esac
}

# $1: which word the program is.
_hipq_run_program()
{
    if ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}

complete -o default -F _hipq_run hipq-run
