import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { BenchError } from "../bench-error.ts";

const run = promisify(execFile);

export interface Certificate {
  caFile: string;
  certFile: string;
  keyFile: string;
  /** Folder with both under the names that MinIO looks for. */
  folder: string;
}

/**
 * Creates a certificate authority and its certificate for one address or name, valid for a day. P-256, as public stores use.
 * @throws BenchError without openssl
 */
export async function makeCertificate(inside: string, host: string): Promise<Certificate> {
  const folder = join(inside, "certificate");
  await mkdir(folder, { mode: 0o700 });
  const at = (name: string): string => join(folder, name);
  const openssl = async (...args: string[]): Promise<void> => {
    try {
      await run("openssl", args);
    } catch (error) {
      throw new BenchError('The https case needs the "openssl" command to make a certificate.', error);
    }
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
    "-days",
    "1",
    "-subj",
    "/CN=benchmark authority",
  );
  await openssl("req", ...key, "-keyout", at("private.key"), "-out", at("server.csr"), "-subj", `/CN=${host}`);
  await writeFile(
    at("server.ext"),
    `subjectAltName=${isIP(host) === 0 ? "DNS" : "IP"}:${host}\nextendedKeyUsage=serverAuth\n`,
  );
  const authority = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"];
  await openssl(
    "x509",
    "-req",
    "-in",
    at("server.csr"),
    ...authority,
    "-days",
    "1",
    "-extfile",
    at("server.ext"),
    "-out",
    at("public.crt"),
  );
  return { caFile: at("ca.pem"), certFile: at("public.crt"), keyFile: at("private.key"), folder };
}
