// A contributor who has only CONTRIBUTING.md: a fresh copy of the repository in an empty home folder of another user, the
// printed commands, and a change that the tests prove.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hasPrograms } from '../kit/components.ts'
import { openHome } from '../kit/other-user.ts'
import { timeLimit } from '../kit/time-limit.ts'

const root = join(import.meta.dirname, '../..')
const FOLDER = 'test/plugins/tokens'
/** The longest command on an idle machine. */
const SECONDS = 400
const SOURCE = 'plugins/tokens/tokens.ts'

t.test(
  'a contributor runs the tests of a folder, breaks it, repairs it and checks it',
  {
    timeout: timeLimit(900),
  },
  async (t) => {
    if (!hasPrograms(t, 'bwrap', 'git', 'npm')) return
    const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
    /** Returns a command as the document prints it. */
    const printed = (command: string): string => {
      if (!new RegExp(`^${command}( +#.*)?$`, 'm').test(text))
        throw new Error(`CONTRIBUTING.md does not print ${command}.`)
      return command
    }
    // What the copy has is what is committed, as on the machine of a contributor.
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
    const kept = Object.entries(process.env).filter(([name]) =>
      /^(npm_config_registry|NODE_EXTRA_CA_CERTS|https?_proxy)$/i.test(name),
    )
    const npm = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
    const { enter } = openHome(t, {
      env: { ...Object.fromEntries(kept), npm_config_registry: npm, PATH: process.env.PATH },
    })
    const began = performance.now()
    await enter(
      `git -c safe.directory='*' clone --quiet --no-local '${root}' gameyard; cd gameyard; git checkout --quiet ${commit}`,
    )
    t.match(await enter(`cd gameyard; ${printed(`npm test -- ${FOLDER}`)}`, SECONDS), /\d+ passed, 0 failed/)
    t.comment(`the tests of a folder passed after ${minutesSince(began)} minutes`)

    // An expired token is valid.
    await enter(`cd gameyard; sed -i 's/known.expiresAt <= now/known.expiresAt <= 0/' ${SOURCE}; ! git diff --quiet`)
    await t.rejects(enter(`cd gameyard; npm test -- ${FOLDER}`, SECONDS), / failed/, 'the tests notice it')
    await enter(`cd gameyard; git checkout --quiet ${SOURCE}`)
    t.match(await enter(`cd gameyard; npm test -- ${FOLDER}`, SECONDS), /\d+ passed, 0 failed/)
    t.comment(`a change was proven after ${minutesSince(began)} minutes`)
    await enter(`cd gameyard; ${printed('npm run check')}; test -z "$(git status --porcelain)"`, SECONDS)
    t.comment(`everything was checked after ${minutesSince(began)} minutes`)
  },
)

const minutesSince = (began: number): string => ((performance.now() - began) / 60_000).toFixed(1)
