import { hash, X509Certificate } from "node:crypto";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { Fault } from "#protocol/faults/fault.ts";

/** The pin of a public key, in the form that curl and HPKP use: base64 of the SHA-256 of its SubjectPublicKeyInfo. */
export const pinOf = (publicKey: Buffer): string => `sha256/${hash("sha256", publicKey, "base64")}`;

/**
 * Checks the name as Node does, then the key of the certificate: one of the pins, separated by commas, has to match. What is given to
 * `tls.connect` as `checkServerIdentity`.
 */
export const pinnedIdentity =
  (pins: string): NonNullable<ConnectionOptions["checkServerIdentity"]> =>
  (host: string, certificate: PeerCertificate) => {
    const wrong = process.getBuiltinModule("node:tls").checkServerIdentity(host, certificate);
    if (wrong !== undefined) return wrong;
    // `certificate.pubkey` of an elliptic curve is the bare point.
    const key = new X509Certificate(certificate.raw).publicKey;
    const found = pinOf(key.export({ type: "spki", format: "der" }));
    if (pins.split(/[\s,]+/).includes(found)) return undefined;
    return new Fault("TLS_FAILED", {
      subject: host,
      detail: `the key of its certificate is ${found}, which is not pinned`,
    });
  };
