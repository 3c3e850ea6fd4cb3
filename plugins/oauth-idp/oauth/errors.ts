/** The error codes of RFC 6749 (4.1.2.1 and 5.2), RFC 8628 (3.5), OpenID Connect Core (3.1.2.6), and RFC 9101, 8707 and 7591. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'login_required'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'

/** An error in the format of the OAuth specifications instead of the platform's own format. */
export class OAuthError extends Error {
  override name: string = 'OAuthError'
  readonly error: OAuthErrorCode
  readonly status: number
  readonly headers: Record<string, string>

  /** @param description for the developer of the client; ASCII, without quotes (RFC 6749 section 5.2) */
  constructor(error: OAuthErrorCode, description: string, status = 400, headers: Record<string, string> = {}) {
    super(description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'"))
    this.error = error
    this.status = status
    this.headers = headers
  }
}

/** The code is unknown, used, expired, or issued to another client. */
export class InvalidGrant extends OAuthError {
  override name = 'InvalidGrant'

  constructor(description: string) {
    super('invalid_grant', description)
  }
}
