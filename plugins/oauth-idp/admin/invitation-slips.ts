import { setImmediate as nextTurn } from 'node:timers/promises'
import { qrCode, qrPath } from '../../../core/images/qr-code.ts'
import { html, QrPicture, Timestamp, type View } from '../../../core/pages/index.ts'
import type { NewInvitation } from './invitations.ts'

/** An invitation on paper, for somebody who scans its code or types it. */
export interface Slip extends NewInvitation {
  qr: ReturnType<typeof qrPath>
}

/** Draws the QR codes of new invitations. Other requests run in between, since there may be a hundred. */
export async function slipsOf(made: readonly NewInvitation[]): Promise<Slip[]> {
  const slips: Slip[] = []
  for (const invitation of made) {
    slips.push({ ...invitation, qr: qrPath(await qrCode(invitation.link)) })
    await nextTurn()
  }
  return slips
}

interface SlipsProps {
  slips: Slip[]
  /** The address of the sign-up, as one would write it down. */
  signUpAddress: string
  /** Whether the sign-up asks for the code. An open one does not. */
  asksForCode: boolean
}

/** The slips, to cut out. On paper they are the whole page. */
export const Slips = ({ slips, signUpAddress, asksForCode }: SlipsProps): View => html`
  <ul class="slips" aria-label="Slips to print and cut out">
    ${slips.map(
      ({ note, code, qr, expiresAt }) => html`<li class="slip">
      <${QrPicture} ...${qr} label=${`QR code of the invitation ${code}`} />
      <div>
        <p class="slip-name">${note || 'You are invited'}</p>
        <p>Scan this, or ${asksForCode ? 'type the code at' : 'sign up at'} <span class="slip-address">${signUpAddress}</span></p>
        ${asksForCode && html`<p class="slip-code">${code}</p>`}
        <p class="soft">Until <${Timestamp} at=${expiresAt} /></p>
      </div>
    </li>`,
    )}
  </ul>`
