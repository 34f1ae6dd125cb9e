/**
 * Errors of the store, with S3's own codes, so that clients react as to a provider. Handlers throw only `S3Error`, which
 * is sent as S3's XML. Any other error is sent as `InternalError` without its text.
 */

const STATUS_BY_CODE = {
  AccessDenied: 403,
  AccessForbidden: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  ExpiredToken: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidChunkSizeError: 403,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidToken: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchCORSConfiguration: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  NotModified: 304,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  TooManyRequests: 429,
  XAmzContentSHA256Mismatch: 400,
} as const;

/** Error codes of this store; scripted faults may use any other code. */
export type S3ErrorCode = keyof typeof STATUS_BY_CODE;

/** Additional XML elements and response headers of an error. */
export type S3ErrorDetail = {
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A refusal in S3's words. The message never contains a secret, a signature or a presigned URL. */
export class S3Error extends Error {
  readonly code: S3ErrorCode;
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: S3ErrorCode, message: string, detail: S3ErrorDetail = {}) {
    super(message);
    this.name = "S3Error";
    this.code = code;
    this.status = STATUS_BY_CODE[code];
    this.fields = detail.fields ?? {};
    this.headers = detail.headers ?? {};
  }
}
