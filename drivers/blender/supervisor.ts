/**
 * Makes exceeding the file size limit an error of the writing process that does not end Blender. Python ignores the
 * signal by itself, but not inside Blender 4.
 */
const OUTLIVE_THE_LIMIT = "trap '' XFSZ"

/** Ends all remaining processes of the script, so that none changes an artifact while it is read. */
const END_THE_REST = 'kill -9 -1 2>/dev/null; wait'

/**
 * The supervisor beside Blender in a sandbox, as a shell program. It reports with one byte on descriptor 3 that it is
 * running, reads the input as a tar archive from standard input, and writes the artifacts as one to descriptor 3. It is
 * not trusted: its output is bounded and checked outside, like that of the script.
 *
 * Arguments: the names of the artifacts, `--`, the command.
 */
export const STREAMING = `
${OUTLIVE_THE_LIMIT}
printf . >&3 || exit 97
mkdir /job/in /job/out && tar -xf - -C /job/in --no-same-owner || exit 97
exec </dev/null
names=
while [ "$1" != -- ]; do names="$names $1"; shift; done
shift
cd /job/out
"$@" 3>&- 2>&1
code=$?
exec >/dev/null 2>&1
${END_THE_REST}
set --
for name in $names; do if [ -e "$name" ] || [ -L "$name" ]; then set -- "$@" "$name"; fi; done
[ $# -eq 0 ] || tar --no-recursion -cf - "$@" >&3
exit $code
`

/**
 * The supervisor in a container, whose files are transferred by the engine's archive API. It waits for a line on its
 * standard input, runs the command, prints `marker` and the exit code, and stays until it is removed.
 *
 * Arguments: the marker, the command.
 */
export const WAITING = `
${OUTLIVE_THE_LIMIT}
read -r go
exec </dev/null
marker=$1
shift
cd /job/out
"$@" 2>&1
code=$?
${END_THE_REST}
printf '\\n%s %s\\n' "$marker" "$code"
exec sleep 600
`
