/** What goes into the place of a secret. */
const GONE = "[secret]";
/** Signatures of presigned URLs, and the headers that carry one. */
const SIGNATURES = /((?:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|Signature)=)[^&\s"'\\,]+/gi;

/** A program's words without the secrets that it was given, in any of the forms that a URL or JSON gives them. */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = new Set(
    secrets
      .filter((secret) => secret !== "")
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]),
  );
  let clean = text;
  // The longest first: a part of one may be another.
  for (const form of [...forms].sort((a, b) => b.length - a.length)) clean = clean.replaceAll(form, GONE);
  return clean.replace(SIGNATURES, `$1${GONE}`);
}

/** The end of a long text. What was cut in two goes with what was before it, so that half a secret cannot stay. */
export function endOf(text: string, about: { most: number; isCut: boolean }): string {
  const { most, isCut } = about;
  if (text.length <= most && !isCut) return text;
  const kept = text.slice(-most);
  const at = kept.indexOf("\n");
  return at < 0 ? "" : kept.slice(at + 1);
}
