import { Checkbox, Field, Form, html, PageHeader, type View } from '../../../core/pages/index.ts'
import { GAME_HINT, type GameChoice, NO_GAME } from './game-choice.ts'
import { licenseFields } from './license-fields.ts'

/**
 * The upload form.
 *
 * @param games what the player makes
 * @param gameId the game that is chosen at first
 */
export const uploadPage = (games: readonly GameChoice[], gameId: string | undefined): View => html`
  <${PageHeader} title="Upload an asset" crumbs=${[{ label: 'Assets', href: '/assets' }]}
    lede="A model (.glb, .gltf, .vrm), a picture, a sound, or a ZIP archive. An archive becomes a pack, or a model if it holds one .gltf." />
  <${Form} id="upload-asset" action="/assets/new" multipart submit="Upload">
    <div class="drop"><${Field} label="File" name="file" type="file" required accept=".glb,.gltf,.vrm,.zip,.png,.jpg,.jpeg,.webp,.gif,.hdr,.ktx2,.mp3,.ogg,.wav,.flac" /></div>
    <${Field} label="Title" name="title" required=${false} maxlength=${120} autocomplete="off" hint="The default is the name of the file." />
    <${Field} label="Description" name="description" type="textarea" rows=${3} required=${false} />
    <${Field} label="Tags" name="tags" required=${false} autocomplete="off" hint="Up to ten, separated by commas: letters, digits, hyphens." />
    ${licenseFields()}
    ${
      games.length > 0 &&
      html`<${Field} label="Game" name="gameId" type="select" value=${gameId ?? ''} hint=${GAME_HINT} options=${[NO_GAME, ...games]} />`
    }
    <${Field} label="Visibility" name="visibility" type="select" value="private"
      options=${[{ value: 'private', label: games.length > 0 ? 'Only me, and the makers of its game' : 'Only me' }, { value: 'public', label: 'Everybody' }]} />
    <${Checkbox} label="Repair small faults of models" name="repair" value="true" hint="Normals and tangents of another length than 1, and bytes after the end of a .glb. Nothing that is seen changes." />
    <div class="progress" hidden>
      <progress max="1" value="0" aria-label="Upload"></progress>
      <p></p>
    </div>
  <//>`
