import type { ServingRules } from '../clients/cli/dev/files.ts'
import { mediaTypeOf } from '../plugins/deploy/manifest/media-type.ts'
import { uploadedEncoding } from '../plugins/deploy/manifest/uploaded-encoding.ts'
import { sendFolderFile } from '../plugins/game-edge/files/folder-file.ts'
import { isPartOfPage } from '../plugins/game-edge/files/part-of-page.ts'

/** The rules of the platform for files of games, by which `gameyard dev` serves a folder. */
export const servingRules: ServingRules = {
  isPartOfPage,
  describe: (path) => uploadedEncoding(path) ?? { contentType: mediaTypeOf(path), encoding: null },
  send: sendFolderFile,
}
