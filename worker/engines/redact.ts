/** Replacement for a secret. */
const GONE = "[secret]";
/** Signatures in presigned URLs and in Authorization headers. */
const SIGNATURES = /((?:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|Signature)=)[^&\s"'\\,]+/gi;

/** Returns a program's output without its secrets, neither as they are nor escaped for a URL or JSON. */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = new Set(
    secrets
      .filter((secret) => secret !== "")
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]),
  );
  let clean = text;
  // Longest first, because one secret may be part of another.
  for (const form of [...forms].sort((a, b) => b.length - a.length)) clean = clean.replaceAll(form, GONE);
  return clean.replace(SIGNATURES, `$1${GONE}`);
}

/** Returns the end of a long text, without its first, incomplete line: half a secret in it would not be redacted. */
export function endOf(text: string, about: { most: number; isCut: boolean }): string {
  const { most, isCut } = about;
  if (text.length <= most && !isCut) return text;
  const kept = text.slice(-most);
  const at = kept.indexOf("\n");
  return at < 0 ? "" : kept.slice(at + 1);
}
