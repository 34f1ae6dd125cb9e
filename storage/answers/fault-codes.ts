import type { FaultCode } from "#protocol/faults/fault-table.ts";

/** Error codes of stores and of the network mapped to fault codes, one table each. */

/** Error codes of different stores. A code missing here is judged by its HTTP status. */
export const BY_CODE: Readonly<Record<string, FaultCode>> = {
  NoSuchKey: "NO_SUCH_KEY",
  NoSuchVersion: "NO_SUCH_KEY",
  NoSuchBucket: "NO_SUCH_BUCKET",
  InvalidBucketName: "NO_SUCH_BUCKET",
  NoSuchUpload: "NO_SUCH_UPLOAD",
  // The upload lacks this part. As with a lost upload, only a restart of the object's upload helps.
  InvalidPart: "NO_SUCH_UPLOAD",
  InvalidPartOrder: "NO_SUCH_UPLOAD",
  NoSuchCORSConfiguration: "NOT_FOUND",
  BucketAlreadyExists: "ALREADY_EXISTS",
  BucketAlreadyOwnedByYou: "ALREADY_EXISTS",

  AccessDenied: "ACCESS_DENIED",
  AccountProblem: "ACCESS_DENIED",
  AllAccessDisabled: "ACCESS_DENIED",
  Forbidden: "ACCESS_DENIED",
  InvalidObjectState: "OBJECT_ARCHIVED",
  QuotaExceeded: "ACCESS_DENIED",
  UnauthorizedAccess: "ACCESS_DENIED",
  InvalidAccessKeyId: "BAD_CREDENTIALS",
  // Codes of Security Token Services.
  InvalidClientTokenId: "BAD_CREDENTIALS",
  SignatureDoesNotMatch: "BAD_CREDENTIALS",
  InvalidSecurity: "BAD_CREDENTIALS",
  InvalidToken: "BAD_CREDENTIALS",
  NotSignedUp: "BAD_CREDENTIALS",
  // versitygw sends it with status 404.
  XAdminUserNotFound: "BAD_CREDENTIALS",
  Unauthorized: "BAD_CREDENTIALS",
  ExpiredToken: "CREDENTIALS_EXPIRED",
  ExpiredTokenException: "CREDENTIALS_EXPIRED",
  TokenRefreshRequired: "CREDENTIALS_EXPIRED",
  RequestExpired: "SIGNATURE_EXPIRED",
  ExpiredPresignRequest: "SIGNATURE_EXPIRED",
  RequestTimeTooSkewed: "CLOCK_SKEW",

  PermanentRedirect: "WRONG_REGION",
  AuthorizationHeaderMalformed: "WRONG_REGION",
  IllegalLocationConstraintException: "WRONG_REGION",
  // The presigned form of the code above. Its other cause, malformed parameters, cannot occur in our requests.
  AuthorizationQueryParametersError: "WRONG_REGION",
  TemporaryRedirect: "STORE_UNAVAILABLE",

  SlowDown: "THROTTLED",
  SlowDownRead: "THROTTLED",
  SlowDownWrite: "THROTTLED",
  Throttling: "THROTTLED",
  ThrottlingException: "THROTTLED",
  TooManyRequests: "THROTTLED",
  TooManyRequestsException: "THROTTLED",
  RequestThrottled: "THROTTLED",
  RequestLimitExceeded: "THROTTLED",
  BandwidthLimitExceeded: "THROTTLED",
  // Wasabi sends it with status 400.
  RequestRateLimitExceeded: "THROTTLED",

  InternalError: "STORE_UNAVAILABLE",
  ServiceUnavailable: "STORE_UNAVAILABLE",
  ServerBusy: "STORE_UNAVAILABLE",
  Busy: "STORE_UNAVAILABLE",
  OperationAborted: "STORE_UNAVAILABLE",
  ConditionalRequestConflict: "STORE_UNAVAILABLE",
  XMinioStorageFull: "STORE_UNAVAILABLE",
  // Tigris sheds load with status 408.
  RequestCanceled: "STORE_UNAVAILABLE",
  RequestTimeout: "STALLED",
  // The body arrived incomplete because of the link, whatever the status (R2 and Wasabi use 400 and 410).
  IncompleteBody: "LINK_DOWN",
  ClientDisconnect: "LINK_DOWN",
  DisconnectError: "LINK_DOWN",
  BadDigest: "CHECKSUM_MISMATCH",
  InvalidDigest: "CHECKSUM_MISMATCH",
  XAmzContentChecksumMismatch: "CHECKSUM_MISMATCH",
  XAmzContentSHA256Mismatch: "CHECKSUM_MISMATCH",

  InvalidRange: "SIZE_MISMATCH",
  EntityTooLarge: "TOO_LARGE",
  KeyTooLongError: "BAD_INPUT",
  NotImplemented: "UNSUPPORTED",
  MethodNotAllowed: "UNSUPPORTED",
};

/** Error codes of Node, OpenSSL and undici. */
export const BY_NETWORK_CODE: Readonly<Record<string, FaultCode>> = {
  ENOTFOUND: "NAME_NOT_RESOLVED",
  EAI_AGAIN: "NAME_NOT_RESOLVED",
  EAI_FAIL: "NAME_NOT_RESOLVED",
  EAI_NODATA: "NAME_NOT_RESOLVED",
  ECONNRESET: "LINK_DOWN",
  ECONNREFUSED: "LINK_DOWN",
  ECONNABORTED: "LINK_DOWN",
  EPIPE: "LINK_DOWN",
  ETIMEDOUT: "LINK_DOWN",
  EHOSTUNREACH: "LINK_DOWN",
  EHOSTDOWN: "LINK_DOWN",
  ENETUNREACH: "LINK_DOWN",
  ENETDOWN: "LINK_DOWN",
  EADDRNOTAVAIL: "LINK_DOWN",
  ERR_STREAM_PREMATURE_CLOSE: "LINK_DOWN",
  ERR_SOCKET_CLOSED: "LINK_DOWN",
  ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC: "LINK_DOWN",
  ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC: "LINK_DOWN",
  ERR_SSL_UNEXPECTED_EOF_WHILE_READING: "LINK_DOWN",
  UND_ERR_SOCKET: "LINK_DOWN",
  UND_ERR_CLOSED: "LINK_DOWN",
  UND_ERR_DESTROYED: "LINK_DOWN",
  UND_ERR_CONNECT_TIMEOUT: "LINK_DOWN",
  UND_ERR_HEADERS_TIMEOUT: "STALLED",
  UND_ERR_BODY_TIMEOUT: "STALLED",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "TRUNCATED",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "UNEXPECTED_ANSWER",
  UND_ERR_ABORTED: "CANCELLED",
  ABORT_ERR: "CANCELLED",
  EPROTO: "TLS_FAILED",
  DEPTH_ZERO_SELF_SIGNED_CERT: "TLS_FAILED",
  SELF_SIGNED_CERT_IN_CHAIN: "TLS_FAILED",
  HOSTNAME_MISMATCH: "TLS_FAILED",
  UNABLE_TO_GET_ISSUER_CERT: "TLS_FAILED",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "TLS_FAILED",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "TLS_FAILED",
};

/** Prefixes of code families that grow with each version of OpenSSL and of the HTTP parser. */
export const BY_NETWORK_FAMILY: readonly (readonly [string, FaultCode])[] = [
  ["ERR_TLS_", "TLS_FAILED"],
  ["ERR_SSL_", "TLS_FAILED"],
  ["CERT_", "TLS_FAILED"],
  ["HPE_", "UNEXPECTED_ANSWER"],
];

/** Error names for errors without a code: aborts and the SDK's timeouts. */
export const BY_NAME: Readonly<Record<string, FaultCode>> = {
  AbortError: "CANCELLED",
  TimeoutError: "STALLED",
};
