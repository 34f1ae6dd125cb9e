import { readFileSync } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Which certificate authorities are trusted, and by whose word. Read when the first TLS connection is made: a command that makes none
 * does not wait for it.
 */
export interface Authorities {
  /** Makes Node's own clients trust them. Cheap when nothing was set, and after the first time. */
  prepare(): void;
  /** For a store with authorities of its own, PEM (null: none); undefined: those that `prepare` sets. */
  forStore(own: string | null): string | undefined;
  /** Where authorities beside the built-in ones come from, as people know it: `--ca /etc/corp.pem`. */
  readonly sources: readonly string[];
}

export interface AuthoritySettings {
  /** Files trusted beside the others, and the flag or variable that names them. */
  given: readonly { file: string; source: string }[];
  env: Readonly<Record<string, string | undefined>>;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates in a PEM text, one each. */
export const certificatesIn = (pem: string): string[] => pem.match(BLOCK) ?? [];

/** @throws Fault BAD_INPUT when the file cannot be read or holds no certificate */
function readCertificates({ file, source }: { file: string; source: string }): string[] {
  const refuse = (detail: string, cause?: unknown) =>
    new Fault("BAD_INPUT", { op: "usage", subject: source, detail, cause });
  let text: string;
  try {
    text = readFileSync(file, "latin1");
  } catch (error) {
    throw refuse(`the file ${file} cannot be read`, error);
  }
  const found = certificatesIn(text);
  if (found.length === 0) throw refuse(`the file ${file} holds no certificate in PEM form`);
  return found;
}

/**
 * `SSL_CERT_FILE` takes the place of the built-in authorities, as in OpenSSL, curl and Go. `AWS_CA_BUNDLE` does the same for stores alone,
 * as in the AWS tools. `NODE_EXTRA_CA_CERTS`, which Node reads itself, and the given files are trusted beside them.
 */
export function readAuthorities({ given, env }: AuthoritySettings): Authorities {
  const named = (source: string) => {
    const file = env[source] ?? "";
    return file === "" ? null : { file, source };
  };
  const [forAll, forStores] = [named("SSL_CERT_FILE"), named("AWS_CA_BUNDLE")];
  const sources = [forAll, forStores, named("NODE_EXTRA_CA_CERTS"), ...given]
    .filter((one) => one !== null)
    .map(({ source, file }) => `${source} ${file}`);
  let isPrepared = false;
  let beside: string[] | undefined;
  const tls = () => process.getBuiltinModule("node:tls");
  const added = (): string[] => (beside ??= given.flatMap(readCertificates));
  const prepare = () => {
    if (isPrepared) return;
    isPrepared = true;
    if (forAll === null && given.length === 0) return;
    const base =
      forAll === null
        ? tls().getCACertificates("default")
        : [...readCertificates(forAll), ...tls().getCACertificates("extra")];
    tls().setDefaultCACertificates([...base, ...added()]);
  };
  const stores = new Map<string | null, string>();
  return {
    sources,
    prepare,
    forStore: (own) => {
      if (own === null && forStores === null) return undefined;
      const known = stores.get(own);
      if (known !== undefined) return known;
      prepare();
      const base =
        forStores === null
          ? tls().getCACertificates("default")
          : [...readCertificates(forStores), ...tls().getCACertificates("extra"), ...added()];
      const all = [...base, ...certificatesIn(own ?? "")].join("\n");
      stores.set(own, all);
      return all;
    },
  };
}
