import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { FileSource } from '../../core/data/built-files.ts'
import { CLIENT_PACKAGES, clientPackageFile } from '../../core/data/client-packages.ts'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { planResponse } from '../../core/http/send-file.ts'
import { qrCode, qrPath } from '../../core/images/qr-code.ts'
import type { BrowserFile } from '../../core/pages/browser-files.ts'
import { html, renderPage } from '../../core/pages/index.ts'
import { CERTIFICATE_FILE, CertificatePage, NoCertificatePage } from './certificate-page.ts'
import { ClientPackagesSection } from './client-packages-section.ts'
import { type Download, describeProgram } from './download.ts'
import { DownloadPage, NoDownloadPage } from './download-page.ts'
import { JoinPage } from './join-page.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true }, constraints } as const
const tags = ['LAN']
const file = { config: { auth: 'none' }, constraints } as const

/** Pages on joining the network, and the downloads. */
export const pages: Routes = async (app) => {
  const { lan } = app.config
  const { portal, secure } = app.origins
  const { players, signUp } = app.identity
  const { host, port } = new URL(portal)
  const plain = portal.replace(/^https:/, 'http:')
  const alias = lan.enabled ? `${lan.name}.local${port && `:${port}`}` : null
  // The code is the same for everyone, so it is created once. Over plain HTTP, newcomers see the certificate page
  // first.
  let qr: Promise<ReturnType<typeof qrPath>> | undefined

  app.get('/join', open, async (request, reply) => {
    qr ??= qrCode(app.localAuthority ? plain : portal).then(qrPath)
    return renderPage(reply, {
      title: 'Join',
      current: '/join',
      description: `How to come in: ${host}`,
      user: request.principal?.viewer,
      scripts: request.principal === null && signUp.takesGuests ? signUp.challenge.scripts : [],
      body: JoinPage({
        siteName: app.site.name,
        address: portal,
        alias,
        qr: await qr,
        signedIn: request.principal !== null,
        guests: signUp.takesGuests,
        needsWork: signUp.challenge.isRequired,
        signUpIsOpen: players.signUpIsOpen,
        certificate: app.localAuthority !== null,
      }),
    })
  })

  app.get('/join/certificate', open, async (request, reply) => {
    const authority = app.localAuthority
    return renderPage(reply, {
      title: authority ? 'Trust the certificate' : 'No certificate needed',
      current: '/join',
      user: request.principal?.viewer,
      body: authority ? CertificatePage({ authority, portal, plain }) : NoCertificatePage({ secure }),
    })
  })

  app.get(
    CERTIFICATE_FILE,
    {
      ...file,
      schema: {
        tags,
        summary: 'The certificate that this LAN’s https is signed with',
        sends: { 200: { what: 'The certificate as PEM.', types: ['application/x-x509-ca-cert'] } },
      },
    },
    async (_request, reply) => {
      if (!app.localAuthority) throw new NotFound('certificate')
      // With this type, phones offer to install the file. All of them accept PEM.
      reply.header('content-type', 'application/x-x509-ca-cert').header('cache-control', 'no-cache')
      reply.header('content-disposition', 'attachment; filename="gameyard-lan.crt"')
      return app.localAuthority.certificate
    },
  )

  let described: Promise<Download> | undefined
  const download = (): Promise<Download> | null => {
    if (!app.program) return null
    described ??= describeProgram(app.program, process)
    return described
  }

  app.get('/download', open, async (request, reply) => {
    const found = await download()
    return renderPage(reply, {
      title: 'Download',
      user: request.principal?.viewer,
      body: html`${found ? DownloadPage({ download: found, portal }) : NoDownloadPage()}${ClientPackagesSection({ portal })}`,
    })
  })

  app.get(
    '/download/gameyard.sha256',
    {
      ...file,
      schema: {
        tags,
        summary: 'Digest of the program',
        sends: { 200: { what: 'A line for `sha256sum -c`.', types: ['text/plain'] } },
      },
    },
    async (_request, reply) => {
      const found = await download()
      if (!found) throw new NotFound('download')
      reply.type('text/plain; charset=utf-8').header('cache-control', 'no-cache')
      return `${found.sha256}  ${found.name}\n`
    },
  )

  for (const name of CLIENT_PACKAGES.map(clientPackageFile)) {
    let packed: Promise<Pick<BrowserFile, 'contentType' | 'body' | 'encodings' | 'etag'> | null> | undefined
    app.route({
      method: ['GET', 'HEAD'],
      url: `/download/${name}`,
      ...file,
      schema: {
        tags,
        summary: 'A package for game developers, for `npm install`',
        sends: { 200: { what: 'The package.', types: ['application/gzip'] } },
      },
      handler: async (request, reply) => {
        packed ??= readPackage(app.clientPackages, name)
        const found = await packed
        if (!found) throw new NotFound('download')
        return app.browserFiles.send(request, reply, found)
      },
    })
  }

  for (const name of ['gameyard', 'gameyard.exe']) {
    app.route({
      method: ['GET', 'HEAD'],
      url: `/download/${name}`,
      ...file,
      schema: {
        tags,
        summary: 'The program that runs here, as a download',
        sends: { 200: { what: 'The program.', types: ['application/octet-stream'] } },
      },
      handler: async (request, reply) => {
        const found = await download()
        if (found?.name !== name) throw new NotFound('download')
        const { status, headers, bytes } = planResponse(request.raw, found.head)
        reply.code(status)
        for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1])
        if (bytes === null) return reply.send(null)
        return reply.send(createReadStream(found.path, bytes === 'all' ? {} : bytes))
      },
    })
  }
}

async function readPackage(source: FileSource, name: string) {
  const bytes = await source(name)
  if (!bytes) return null
  const body = Buffer.from(bytes)
  return { contentType: 'application/gzip', body, encodings: [], etag: `"${hash('sha256', body)}"` }
}
