# fish completion for machineadm; `machineadm completion fish` prints it.
function __machineadm_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l found ($program __complete --current="$current" -- $words 2>/dev/null)
    test (count $found) -gt 0; or return
    set -l prefix (string match -r '^.*=' -- $current)
    set -l typed (string replace -r '^.*=' '' -- $current)
    switch $found[-1]
        case ':files'
            for path in (__fish_complete_path "$typed")
                printf '%s\n' "$prefix$path"
            end
        case ':directories'
            for path in (__fish_complete_directories "$typed")
                printf '%s\n' "$prefix$path"
            end
    end
    set -e found[-1]
    test (count $found) -eq 0; or printf '%s\n' $found
end
complete -c machineadm -f -k -a '(__machineadm_complete)'
