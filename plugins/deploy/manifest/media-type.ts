import mime from 'mime'

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"))*$`,
)

/** Whether a text is a media type by RFC 9110 section 8.3.1, so that it is safe in a header. */
export const isMediaType = (text: string): boolean => MEDIA_TYPE.test(text)

/** Text types that browsers would otherwise decode by their locale. */
const TEXT = /^(?:text\/|application\/(?:javascript|json|manifest\+json|xml|xhtml\+xml)|image\/svg\+xml)/

/** Returns a file's media type by its name. */
export function mediaTypeOf(path: string): string {
  const type = mime.getType(path) ?? 'application/octet-stream'
  return TEXT.test(type) ? `${type}; charset=utf-8` : type
}
