import type { ProfileDraft } from "#protocol/wire/requests.ts";

/**
 * Commands that other tools need for an object. Keys are untrusted text, so each is quoted for the shell: no part of a
 * key is ever executed.
 */

export interface CopyForm {
  id: "s3" | "tidemark" | "aws" | "curl";
  label: string;
  text: string;
}

/** Quotes a text as one POSIX shell word. Control characters need the `$'…'` form of bash and zsh. */
export function quoteWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/.test(text)) {
    return `'${text.replaceAll("'", `'\\''`)}'`;
  }
  const escaped = text.replace(/[\\']/g, "\\$&").replace(/[^\x20-\x7e]/gu, (sign) => {
    const bytes = new TextEncoder().encode(sign);
    return Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  });
  return `$'${escaped}'`;
}

/** Returns the last segment as a local file name, which is never a path elsewhere and never an option. */
function fileName(key: string): string {
  const last = key.split("/").findLast((segment) => segment !== "") ?? "object";
  return last === "." || last === ".." ? "./object" : `./${last}`;
}

const encodeSegment = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns the URL for curl; the key is percent-encoded as the signature requires. */
function urlOf(profile: ProfileDraft, key: string): string {
  const url = new URL(profile.browserEndpoint ?? profile.endpoint);
  const path = key.split("/").map(encodeSegment).join("/");
  const isPath = profile.addressing === "path" || profile.bucket.includes(".") || url.pathname !== "/";
  return isPath
    ? `${url.origin}${url.pathname.replace(/\/+$/, "")}/${profile.bucket}/${path}`
    : `${url.protocol}//${profile.bucket}.${url.host}/${path}`;
}

/** Returns the commands for one object or, with a `/` at its end, for everything below a prefix. */
export function copyForms(profile: ProfileDraft, key: string): CopyForm[] {
  const uri = `s3://${profile.bucket}/${key}`;
  const isFolder = key === "" || key.endsWith("/");
  const target = isFolder ? "./" : fileName(key);
  const endpoint = quoteWord(profile.endpoint);
  const region = quoteWord(profile.region);
  const tidemark = `tidemark cp ${quoteWord(uri)} ${quoteWord(target)} --endpoint ${endpoint} --region ${region}`;
  const aws = `aws s3 cp ${quoteWord(uri)} ${quoteWord(target)}${isFolder ? " --recursive" : ""} --endpoint-url ${endpoint} --region ${region}`;
  const forms: CopyForm[] = [
    { id: "s3", label: "s3:// address", text: uri },
    { id: "tidemark", label: "tidemark cp", text: tidemark },
    { id: "aws", label: "AWS command line", text: aws },
  ];
  if (!isFolder) {
    const curl = `curl --fail --path-as-is --aws-sigv4 ${quoteWord(`aws:amz:${profile.region}:s3`)} --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" --output ${quoteWord(target)} ${quoteWord(urlOf(profile, key))}`;
    forms.push({ id: "curl", label: "curl", text: curl });
  }
  return forms;
}
