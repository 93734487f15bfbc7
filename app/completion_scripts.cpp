#include "app/completion.h"

#include <string_view>

namespace twb {
namespace {

constexpr std::string_view kBash =
    R"script(# Completion of twb and tensor-workbench in bash; written by `twb completion bash`.

_tensor_workbench() {
    local twb=twb line=${COMP_LINE:0:COMP_POINT} blank part i
    local -a words=() answer=() suffixes=()
    [[ ${1##*/} == twb ]] && twb=$1
    # Bash splits words at = and :, which are parts of the words here.
    for ((i = 0; i <= COMP_CWORD; ++i)); do
        blank=${line%%[![:space:]]*}
        line=${line#"$blank"}
        part=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && part=$line
        if [[ $blank || $i == 0 ]]; then words+=("$part"); else words[-1]+=$part; fi
        line=${line#"$part"}
    done
    mapfile -t answer < <("${twb/#\~/$HOME}" __complete "${words[@]//[\\\'\"]/}" 2>/dev/null)
    ((${#answer[@]})) || return

    # Readline replaces only the part after the last word break or quote.
    local breaks=${COMP_WORDBREAKS//[^=:]/}\'\" word=${words[-1]} quoted=
    local head=${word%"${word##*[$breaks]}"}
    [[ $head == *[\'\"]* ]] && quoted=yes
    head=${head//[\\\'\"]/}
    local line
    for line in "${answer[@]:1}"; do
        part=${line%%$'\t'*}
        [[ $part == *[=.:,] ]] && compopt -o nospace 2>/dev/null
        part=${part#"$head"}
        [[ $quoted ]] || printf -v part %q "$part"
        COMPREPLY+=("$part")
    done

    local kind=${answer[0]%%$'\t'*} rest=${answer[0]#*$'\t'}
    local before=${rest%%$'\t'*} suffix
    rest=${rest#*$'\t'}
    [[ $kind == none ]] && return
    compopt -o filenames 2>/dev/null
    [[ $rest ]] && IFS=$'\t' read -ra suffixes <<<"$rest"
    word=${word//[\\\'\"]/}
    while IFS= read -r part; do
        part=$before$part
        COMPREPLY+=("${part#"$head"}")
    done < <(compgen -d -- "${word#"$before"}")
    [[ $kind == files ]] || return
    ((${#suffixes[@]})) || suffixes=("")
    while IFS= read -r part; do
        for suffix in "${suffixes[@]}"; do
            [[ $part == *"$suffix" ]] || continue
            part=$before$part
            COMPREPLY+=("${part#"$head"}")
            break
        done
    done < <(compgen -f -- "${word#"$before"}")
}
complete -F _tensor_workbench twb tensor-workbench
)script";

constexpr std::string_view kZsh = R"script(#compdef twb tensor-workbench
# Completion of twb and tensor-workbench in zsh; written by `twb completion zsh`.

_tensor_workbench() {
    local twb=twb one word doc
    local -a line answer head suffixes whole wholeDocs open openDocs
    [[ ${words[1]:t} == twb ]] && twb=${(Q)words[1]/#\~/$HOME}
    line=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    answer=("${(@f)$($twb __complete "${line[@]}" 2>/dev/null)}")
    [[ -n $answer[1] ]] || return 1
    for one in "${(@)answer[2,-1]}"; do
        word=${one%%$'\t'*}
        doc=$word
        [[ $one == *$'\t'* ]] && doc="$word -- ${one#*$'\t'}"
        if [[ $word == *[=.:,] ]]; then
            open+=("$word")
            openDocs+=("$doc")
        else
            whole+=("$word")
            wholeDocs+=("$doc")
        fi
    done
    (( $#whole )) && compadd -l -d wholeDocs -a whole
    (( $#open )) && compadd -l -S '' -d openDocs -a open
    head=("${(@ps:\t:)answer[1]}")
    suffixes=(${head[3,-1]})
    [[ $head[1] == none ]] || compset -p ${#head[2]}
    case $head[1] in
    folders) _files -/ ;;
    files) if (( $#suffixes )); then _files -g "*(${(j:|:)suffixes})(-.)"; else _files; fi ;;
    esac
}

if [[ ${funcstack[1]} == _tensor_workbench || ${funcstack[1]} == _twb ]]; then
    _tensor_workbench "$@"
else
    compdef _tensor_workbench twb tensor-workbench
fi
)script";

constexpr std::string_view kFish =
    R"script(# Completion of twb and tensor-workbench in fish; written by `twb completion fish`.

function __tensor_workbench_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l twb twb
    string match -q -r '(^|/)twb$' -- $words[1]; and set twb $words[1]
    set -l plain (string replace -a -r '[\\\\\'"]' '' -- "$current")
    set -l answer ($twb __complete $words "$plain" 2>/dev/null)
    test (count $answer) -gt 0; or return
    for line in $answer[2..-1]
        echo $line
    end
    set -l head (string split \t -- $answer[1])
    test $head[1] = none; and return
    set -l suffixes (string match -r '.+' -- $head[3..-1])
    set -l start (math (string length -- "$head[2]") + 1)
    for path in (__fish_complete_path (string sub -s $start -- "$plain"))
        set -l name (string split -f 1 \t -- $path)
        if string match -q '*/' -- $name
            echo $head[2]$path
        else if test $head[1] = files
            if test (count $suffixes) -eq 0
                echo $head[2]$path
            end
            for suffix in $suffixes
                if string match -q -- "*$suffix" $name
                    echo $head[2]$path
                    break
                end
            end
        end
    end
end

complete -c twb -f -a '(__tensor_workbench_complete)'
complete -c tensor-workbench -f -a '(__tensor_workbench_complete)'
)script";

} // namespace

std::string_view completionScript(Shell shell) noexcept {
    switch (shell) {
    case Shell::bash:
        return kBash;
    case Shell::zsh:
        return kZsh;
    case Shell::fish:
        return kFish;
    }
    return {};
}

} // namespace twb
