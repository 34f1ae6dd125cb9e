import { hash, X509Certificate } from "node:crypto";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { Fault } from "#protocol/faults/fault.ts";

/** Returns the pin of a public key, as curl and HPKP write it: base64 of the SHA-256 of its SubjectPublicKeyInfo. */
export const pinOf = (publicKey: Buffer): string => `sha256/${hash("sha256", publicKey, "base64")}`;

/**
 * Returns a `checkServerIdentity` for `tls.connect`. It checks the host name as Node does, and then that the
 * certificate's key matches one of the pins, which commas separate.
 */
export const pinnedIdentity =
  (pins: string): NonNullable<ConnectionOptions["checkServerIdentity"]> =>
  (host: string, certificate: PeerCertificate) => {
    const wrong = process.getBuiltinModule("node:tls").checkServerIdentity(host, certificate);
    if (wrong !== undefined) return wrong;
    // For elliptic curve keys `certificate.pubkey` is the bare point, not the SubjectPublicKeyInfo.
    const key = new X509Certificate(certificate.raw).publicKey;
    const found = pinOf(key.export({ type: "spki", format: "der" }));
    if (pins.split(/[\s,]+/).includes(found)) return undefined;
    return new Fault("TLS_FAILED", {
      subject: host,
      detail: `the key of its certificate is ${found}, which is not pinned`,
    });
  };
