import { readFileSync } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * The trusted certificate authorities and their sources. Files are read at the first TLS connection, so commands without
 * one do not wait for them.
 */
export interface Authorities {
  /** Makes Node's own clients trust these authorities. Cheap when none are set, and after the first call. */
  prepare(): void;
  /** Returns the PEM certificates that a store's connections trust, with `own` added. Undefined: those that `prepare` sets. */
  forStore(own: string | null): string | undefined;
  /** Sources of authorities beside the built-in ones, as users know them: `--ca /etc/corp.pem`. */
  readonly sources: readonly string[];
}

export interface AuthoritySettings {
  /** Additional files, each with the flag or variable that names it. */
  given: readonly { file: string; source: string }[];
  env: Readonly<Record<string, string | undefined>>;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Returns the certificates in a PEM text, one text each. */
export const certificatesIn = (pem: string): string[] => pem.match(BLOCK) ?? [];

/** Reads the certificates of a file. @throws Fault BAD_INPUT when it is unreadable or has no certificate */
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
 * Reads the settings. `SSL_CERT_FILE` replaces the built-in authorities, as in OpenSSL, curl and Go. `AWS_CA_BUNDLE`
 * replaces them for stores only, as in the AWS tools. `NODE_EXTRA_CA_CERTS`, which Node reads itself, and the given files
 * are added to them.
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
