import Type, { type Static } from 'typebox'
import { uploadedEncoding } from '../manifest/uploaded-encoding.ts'
import type { BuildFile } from './build-file.ts'

export const Note = Type.Object({
  level: Type.Union([Type.Literal('info'), Type.Literal('warning')], {
    description: '`info`: what the platform does for the build. `warning`: what will not work.',
  }),
  code: Type.String({ description: 'Such as `case_differs`.' }),
  path: Type.Optional(Type.String({ description: 'The file, or the first of several.' })),
  message: Type.String({ description: 'For people.' }),
})
export type Note = Static<typeof Note>

/** Programs, packages for other systems, and the sources of editors. */
const FOREIGN =
  /\.(?:exe|dll|dylib|so|msi|apk|aab|ipa|dmg|deb|appimage|x86_64|jar|swf|blend1?|psd|kra|xcf|aseprite|unitypackage|uproject|yyp|c3p|godot|rpgproject|rmmzproject)$/i
/** Files of operating systems, and the packages of a project. */
const UNNEEDED = /(?:^|\/)(?:__MACOSX\/|node_modules\/|\._[^/]*$|\.DS_Store$|Icon\r$|Thumbs\.db$|desktop\.ini$)/

/** Returns what the names of a build's files tell. */
export function notesByName(files: readonly BuildFile[]): Note[] {
  return [
    ...group(
      files.filter(({ path, announcedType }) => uploadedEncoding(path, announcedType) !== null),
      {
        level: 'info',
        code: 'encoded',
        of: (some, them) =>
          `${some} sent with the type of the content and the Content-Encoding, so that browsers unpack ${them} and compile WebAssembly while it arrives.`,
      },
    ),
    ...group(
      files.filter(({ path }) => /\.unityweb$/i.test(path)),
      {
        level: 'warning',
        code: 'unpacked_by_script',
        of: (some) =>
          `${some} unpacked by a script of Unity, which starts slower. Turn off "Decompression Fallback" in the publishing settings: the platform sends .br and .gz as browsers expect.`,
      },
    ),
    ...group(
      files.filter(({ path }) => FOREIGN.test(path)),
      {
        level: 'warning',
        code: 'not_for_browsers',
        of: (some) => `${some} of no use in a browser.`,
      },
    ),
    ...group(packsAlone(files), {
      level: 'warning',
      code: 'pack_alone',
      of: (some) => `${some} published without the engine (.wasm and .js) beside it. Export the project for the Web.`,
    }),
    ...group(
      files.filter(({ path }) => UNNEEDED.test(path)),
      {
        level: 'warning',
        code: 'unneeded_files',
        of: (some) => `${some} not needed by the game: files of the operating system, or packages of the project.`,
      },
    ),
  ]
}

/** Godot's packs without a WebAssembly module in the same folder. */
function packsAlone(files: readonly BuildFile[]): BuildFile[] {
  const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)
  const engines = new Set(
    files.filter(({ path }) => /\.wasm(?:\.(?:br|gz))?$/i.test(path)).map(({ path }) => folderOf(path)),
  )
  return files.filter(({ path }) => /\.pck(?:\.(?:br|gz))?$/i.test(path) && !engines.has(folderOf(path)))
}

/** Makes one note of all files that share a property, or none. @param of the message after the subject "a.exe is" */
function group(
  files: readonly BuildFile[],
  { level, code, of }: { level: Note['level']; code: string; of: (some: string, them: 'it' | 'them') => string },
): Note[] {
  const [first, ...others] = files
  if (!first) return []
  const message =
    others.length === 0 ? of(`${first.path} is`, 'it') : of(`${first.path} and ${others.length} more are`, 'them')
  return [{ level, code, path: first.path, message }]
}
