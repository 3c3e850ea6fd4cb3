import { qrCode, qrPath } from '../../core/images/qr-code.ts'
import { CopyValue, html, QrPicture, type View } from '../../core/pages/index.ts'
import type { Game } from '../games/index.ts'

type Picture = ReturnType<typeof qrPath>

/** The number of codes in memory. Each has a few KB. */
const KEPT = 200

/** The part of a game's page with its address and QR code, for the people beside the player. */
export class Invitations {
  readonly #pictures = new Map<string, Promise<Picture>>()

  /** Renders the part; null for a game that not everybody may open. @param isOpen whether everybody may */
  async onGamePage(game: Game, isOpen: boolean): Promise<View | null> {
    if (!isOpen) return null
    const picture = await this.#pictureOf(game.playUrl)
    return html`
      <details class="confirm invite">
        <summary class="button">Invite somebody</summary>
        <div class="confirm-body plain">
          <p>Send them this address, or let them scan the code.</p>
          <p><${CopyValue} value=${game.playUrl} label="address of the game" /></p>
          <${QrPicture} ...${picture} label=${`QR code of ${game.playUrl}`} />
        </div>
      </details>`
  }

  #pictureOf(url: string): Promise<Picture> {
    const known = this.#pictures.get(url)
    if (known) return known
    const picture = qrCode(url).then(qrPath)
    this.#pictures.set(url, picture)
    const [oldest] = this.#pictures.keys()
    if (this.#pictures.size > KEPT && oldest !== undefined) this.#pictures.delete(oldest)
    return picture
  }
}
