import { hostname } from 'node:os'
import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { withToken?: true; browser: boolean; label?: string }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Signs in with your approval in a browser, and stores a token of full access for this machine. One sign-in a platform.',
    )
    .option('--with-token', 'read a token from standard input instead, such as one of your settings')
    .option('--no-browser', 'only print the address, for another device')
    .option('--label <name>', 'what the token is called in your settings')
    .addHelpText(
      'after',
      `
Examples:
  gameyard login                                  the platform on this machine
  gameyard login --url https://yard.example.org   another one
  gameyard login --with-token < token.txt         without a browser

In scripts and CI set SERVICE_API_TOKEN and SERVICE_BASE_URL instead; nothing is written then.`,
    )
    .action((options: Options) => runClient(options, installation, (client) => login(client, options)))
}

async function login(client: Client, options: Options): Promise<void> {
  const { terminal, credentials, env, userAgent } = client
  const [{ keepToken }, { homeOf }] = await Promise.all([
    import('../../clients/cli/login.ts'),
    import('../../clients/cli/platform.ts'),
  ])
  const baseUrl = await homeOf(await client.baseUrl(), userAgent)
  // A failure here saves the user a useless sign-in in the browser.
  await credentials.mustBeWritable()
  const token = options.withToken ? await tokenFromInput() : await approve(client, baseUrl, options)
  const account = await keepToken(credentials, { baseUrl, token, userAgent }, { revocable: !options.withToken })
  if (env.SERVICE_API_TOKEN) terminal.note('SERVICE_API_TOKEN is set here, and takes precedence over this sign-in.')
  terminal.result(
    { baseUrl, user: account.user, tokenLabel: account.label, file: credentials.file },
    () =>
      `${terminal.style('green', 'Signed in')} to ${baseUrl} as ${terminal.style('bold', account.user.name)}.\nNext: gameyard deploy DIR --create`,
  )
}

async function tokenFromInput(): Promise<string> {
  const [{ checkForm }, { CliError }] = await Promise.all([
    import('../../clients/cli/platform.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  if (process.stdin.isTTY) process.stderr.write('Paste the token, then press Enter and Ctrl-D: ')
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  const token = text.trim()
  if (token === '')
    throw new CliError('There is no token on standard input.', { hint: 'gameyard login --with-token < token.txt' })
  checkForm(token)
  return token
}

async function approve(client: Client, baseUrl: string, { browser, label }: Options): Promise<string> {
  const { terminal, env, userAgent, signal } = client
  const [{ deviceLogin }, { openBrowser }] = await Promise.all([
    import('../../clients/cli/device-login.ts'),
    import('../../clients/cli/open-browser.ts'),
  ])
  const machine = `${hostname()} (${process.platform})`
  return deviceLogin({
    baseUrl,
    machine,
    label: label ?? `gameyard on ${hostname()}`,
    userAgent,
    signal,
    invite({ userCode, page, pageWithCode, expiresInSeconds }) {
      const code = terminal.styleNote('bold', userCode)
      terminal.note(`Allow this sign-in in your browser. It shows the code ${code}\n`)
      terminal.note(`  ${terminal.styleNote('cyan', pageWithCode)}\n`)
      const other = `On another device: ${page}, code ${userCode}`
      terminal.note(`${other}\nWaiting up to ${Math.round(expiresInSeconds / 60)} minutes; Ctrl-C stops it.`)
      if (browser) void openBrowser(pageWithCode, env)
    },
  })
}
