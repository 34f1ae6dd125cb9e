import { emptyStore, type ReadStore } from "./read-store.ts";
import type { Section } from "./read-text.ts";

/** Reads stores as MinIO's client, restic, DVC and boto 2 name them. Pure. */

const REMOTE = /^(['"]?)remote (["'])(.{1,64})\2\1$/;

/** Returns whether a section is a remote in DVC's config: `['remote "storage"']`. */
export const isDvc = ({ name }: Pick<Section, "name">): boolean => REMOTE.test(name);

export const nameOfDvc = ({ name }: Pick<Section, "name">): string => REMOTE.exec(name)?.[3] ?? "";

/** Joins the sections of one remote: DVC keeps secrets in a file of their own, `config.local`. A later value counts. */
export function joinDvc(sections: readonly Section[]): Section[] {
  const joined = new Map<string, Section>();
  for (const section of sections) {
    const name = nameOfDvc(section);
    const known = joined.get(name);
    const values = new Map([...(known?.values ?? []), ...section.values]);
    const literal = new Map([...(known?.literal ?? []), ...section.literal]);
    joined.set(name, { ...section, values, literal });
  }
  return [...joined.values()];
}

/** Reads a remote of DVC's config; null where it is no bucket. Source: https://dvc.org/doc/user-guide/data-management/remote-storage/amazon-s3 */
export function readDvc({ name, values }: Section): ReadStore | null {
  const [, bucket = null, prefix = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(values.get("url") ?? "") ?? [];
  if (bucket === null) return null;
  const textOf = (key: string): string | null => values.get(key) || null;
  return {
    ...emptyStore(`DVC ${nameOfDvc({ name })}`),
    endpoint: textOf("endpointurl"),
    region: textOf("region"),
    bucket,
    prefix: prefixOf(prefix),
    accessKeyId: textOf("access_key_id"),
    secretAccessKey: textOf("secret_access_key"),
    sessionToken: textOf("session_token"),
  };
}

const prefixOf = (path: string): string => (path === "" || path.endsWith("/") ? path : `${path}/`);

/** Returns whether these sections are a `.boto` file, whose endpoint stands in a section of its own. */
export const isBoto = (sections: readonly Section[]): boolean =>
  sections.some(({ name, values }) => name === "Credentials" && values.has("aws_access_key_id"));

/** Reads the sections of a `.boto` file. Source: https://docs.pythonboto.org/en/latest/boto_config_tut.html */
export function readBoto(sections: readonly Section[]): ReadStore {
  const [keys, service] = ["Credentials", "s3"].map((name) => sections.find((one) => one.name === name)?.values);
  const host = service?.get("host") ?? keys?.get("s3_host") ?? "";
  const port = service?.get("port") ?? keys?.get("s3_port") ?? "";
  const isPlain = /^(false|no|off|0)$/i.test(
    sections.find(({ name }) => name === "Boto")?.values.get("is_secure") ?? "",
  );
  return {
    ...emptyStore("boto"),
    endpoint: host === "" ? null : `${isPlain ? "http" : "https"}://${host}${port === "" ? "" : `:${port}`}`,
    accessKeyId: keys?.get("aws_access_key_id") || null,
    secretAccessKey: keys?.get("aws_secret_access_key") || null,
    addressing: /OrdinaryCallingFormat/.test(service?.get("calling_format") ?? "") ? "path" : null,
  };
}

/** Reads variables `MC_HOST_name` of MinIO's client: `https://KEY:SECRET[:TOKEN]@host`. Source: https://github.com/minio/mc */
export function readMcHosts(variables: ReadonlyMap<string, string>): ReadStore[] {
  return [...variables].flatMap(([name, value]) => {
    const alias = /^MC_HOST_(.+)$/.exec(name)?.[1];
    const [, scheme, login, host] = /^(https?:\/\/)(.+)@([^@/]+)\/?$/.exec(value) ?? [];
    if (alias === undefined || login === undefined) return [];
    const [accessKeyId = "", secretAccessKey = "", sessionToken = ""] = login.split(":").map(decoded);
    return [
      {
        ...emptyStore(`mc ${alias.toLowerCase()}`),
        endpoint: `${scheme}${host}`,
        accessKeyId: accessKeyId || null,
        secretAccessKey: secretAccessKey || null,
        sessionToken: sessionToken || null,
      },
    ];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the place in restic's `s3:https://host/bucket/path`; null where the text names none. Source: https://restic.readthedocs.io */
export function placeOfRestic(repository: string): Pick<ReadStore, "endpoint" | "bucket" | "prefix"> | null {
  const [, scheme = "https://", host, bucket, path = ""] =
    /^s3:(?:(https?:\/\/)|\/\/)?([^/]+)\/([^/]+)\/?(.*)$/.exec(repository) ?? [];
  if (host === undefined || bucket === undefined) return null;
  // restic's own name for AWS in every region.
  const endpoint = host === "s3.amazonaws.com" ? null : `${scheme}${host}`;
  return { endpoint, bucket, prefix: prefixOf(path) };
}
