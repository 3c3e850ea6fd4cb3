import type { Game } from '../games/index.ts'

/** What the owner of a game is told about one of its domains. */
export interface Notice {
  subject: string
  text: string
}

interface About {
  name: string
  game: Pick<Game, 'title' | 'url'>
  /** The owner's page of the game's domains. */
  page: string
}

export const verifiedNotice = ({ name, game, page }: About): Notice => ({
  subject: `${name} leads to ${game.title} now`,
  text: `The proof for ${name} was found in the DNS: ${game.title} is served there from now on.\n\n${page}`,
})

export const failingNotice = ({ name, game, page }: About, offAt: Date): Notice => ({
  subject: `${name} is about to stop leading to ${game.title}`,
  text: [
    `The TXT record that proves ${name} to be yours has gone from the DNS. Until ${offAt.toUTCString()} nothing changes; then ${game.title} is no longer served there. To keep it there, put the record back:`,
    page,
    'If you have given the domain up, there is nothing to do.',
  ].join('\n\n'),
})

export const offNotice = ({ name, game, page }: About): Notice => ({
  subject: `${name} no longer leads to ${game.title}`,
  text: `The proof for ${name} stayed away from the DNS, so ${game.title} is no longer served there. It is at its other addresses as before. With the record back in the DNS it comes back automatically:\n\n${page}`,
})
