import type { Plugin } from '../core/plugin.ts'
import ai from './ai/index.ts'
import assets from './assets/index.ts'
import assistants from './assistants/index.ts'
import billing from './billing/index.ts'
import blender from './blender/index.ts'
import deploy from './deploy/index.ts'
import docs from './docs/index.ts'
import domains from './domains/index.ts'
import editor from './editor/index.ts'
import gameEdge from './game-edge/index.ts'
import gameErrors from './game-errors/index.ts'
import games from './games/index.ts'
import host from './host/index.ts'
import jam from './jam/index.ts'
import lan from './lan/index.ts'
import moderation from './moderation/index.ts'
import multiplayer from './multiplayer/index.ts'
import oauthIdp from './oauth-idp/index.ts'
import quotas from './quotas/index.ts'
import remix from './remix/index.ts'
import saves from './saves/index.ts'
import scores from './scores/index.ts'
import starters from './starters/index.ts'
import tokens from './tokens/index.ts'

/** Every built-in plugin. The order does not matter: the kernel starts them by their dependencies. */
export const plugins: Plugin[] = [
  oauthIdp,
  tokens,
  quotas,
  games,
  deploy,
  assets,
  domains,
  gameEdge,
  gameErrors,
  editor,
  multiplayer,
  saves,
  scores,
  billing,
  ai,
  blender,
  host,
  moderation,
  docs,
  assistants,
  lan,
  jam,
  starters,
  remix,
]
