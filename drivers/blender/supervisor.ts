/**
 * A file at its size limit is an error to whoever writes it, not the end of Blender: Python sees to that by itself, but
 * not inside of Blender 4.
 */
const OUTLIVE_THE_LIMIT = "trap '' XFSZ"

/** Ends everything that the script has left running, so that nobody changes an artifact while it is read. */
const END_THE_REST = 'kill -9 -1 2>/dev/null; wait'

/**
 * What runs beside Blender in a sandbox, as a shell program: says with one byte on descriptor 3 that it is there, takes
 * the input as a tar archive from its standard input, and gives the artifacts as one on descriptor 3. Nothing rests on
 * its being honest: what comes out is as untrusted as the script, and is bounded and checked outside.
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
 * The same in a container, whose files come and go by the engine's archive API: waits for a line on its standard input,
 * runs the command, prints `marker` and the exit code, and stays until it is removed.
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
