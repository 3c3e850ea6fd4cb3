/** An OpenAPI document with an example of everything that the reference page shows. */

const Game = {
  type: 'object',
  required: ['id', 'title', 'visibility', 'settings'],
  properties: {
    id: { type: 'string', pattern: '^gam_[0-9A-Z]{26}$' },
    title: { type: 'string', minLength: 1, maxLength: 120 },
    visibility: { anyOf: [{ const: 'public' }, { const: 'private' }], default: 'public' },
    coverUrl: { anyOf: [{ type: 'string', format: 'uri' }, { type: 'null' }] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 10 },
    settings: {
      type: 'object',
      description: 'How it is served; `authWidget` puts the sign-in button on the page.',
      required: ['authWidget'],
      properties: {
        authWidget: { enum: ['auto', 'off'] },
        multiplayer: {
          type: 'object',
          properties: {
            enabled: { type: 'boolean' },
            maxPlayersPerRoom: { type: 'integer', minimum: 2, maximum: 100 },
          },
        },
      },
    },
  },
}

const Failure = {
  type: 'object',
  properties: { error: { type: 'object', properties: { message: { type: 'string' }, code: { type: 'string' } } } },
}
const gameId = { name: 'gameId', in: 'path', required: true, schema: { type: 'string' } }

export const document = {
  openapi: '3.1.0',
  info: { title: 'Gameyard', version: '0.1.0' },
  servers: [{ url: 'http://localhost:8080' }],
  components: {
    schemas: { Game },
    securitySchemes: {
      apiToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API token (`svc_api_…`) or CLI token (`svc_cli_…`).',
      },
      oauthToken: { type: 'http', scheme: 'bearer', description: 'An OAuth 2.0 access token of a player.' },
      browserSession: {
        type: 'apiKey',
        in: 'cookie',
        name: 'session',
        description: 'The browser session of the portal.',
      },
    },
  },
  paths: {
    '/api/games': {
      get: {
        summary: 'Your games, newest first',
        security: [{ apiToken: ['games:read'] }, { browserSession: [] }],
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } },
          {
            name: 'cursor',
            in: 'query',
            schema: { type: 'string' },
            description: 'The `nextCursor` of the page before.',
          },
        ],
        responses: {
          200: {
            description: 'OK.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: {
                    games: { type: 'array', items: { $ref: '#/components/schemas/Game' } },
                    nextCursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
                  },
                },
              },
            },
          },
        },
      },
      post: {
        summary: 'Create a game',
        description: 'Its `clientSecret` is shown once.',
        security: [{ apiToken: ['games:write'] }],
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['title'],
                properties: {
                  title: { type: 'string', minLength: 1, maxLength: 120, examples: ["Ada's Relay"] },
                  visibility: Game.properties.visibility,
                  tags: Game.properties.tags,
                },
              },
            },
          },
        },
        responses: {
          201: {
            description: 'OK.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Game' } } },
          },
          409: { description: 'The slug is taken.', content: { 'application/json': { schema: Failure } } },
        },
      },
    },
    '/api/games/{gameId}': {
      delete: {
        summary: 'Remove a game',
        security: [{ apiToken: ['games:write'] }],
        parameters: [gameId],
        responses: { 204: { description: 'OK.' }, 404: { description: 'OK.' } },
      },
      patch: {
        summary: 'Change a game',
        deprecated: true,
        security: [{ apiToken: ['games:write'] }],
        parameters: [gameId],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Game' } } } },
      },
    },
    '/api/deploy/{deployId}/files/a-very-long-path/that-goes-on/{digest}': {
      put: {
        summary: 'Upload one file',
        security: [],
        parameters: [{ name: 'signature', in: 'query', required: true, schema: { type: 'string' } }],
        requestBody: { content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } },
      },
    },
    '/api/oauth/token': {
      post: {
        tags: ['sign-in'],
        summary: 'Trade a code for tokens',
        security: [],
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                required: ['grant_type', 'code'],
                properties: { grant_type: { enum: ['authorization_code', 'refresh_token'] }, code: { type: 'string' } },
              },
            },
          },
        },
        responses: {
          200: {
            description: 'OK.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: { access_token: { type: 'string' }, expires_in: { type: 'integer' } },
                },
              },
            },
          },
        },
      },
    },
    '/api/catalog/games': {
      get: {
        summary: 'Public games',
        security: [{}, { apiToken: [] }],
        responses: { 200: { description: 'A page of games.' } },
      },
    },
  },
}
