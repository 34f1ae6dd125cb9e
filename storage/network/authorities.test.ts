import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TRIAL_TLS } from "../testing/trial-certificate.ts";
import { createAgentFetch } from "./agent-fetch.ts";
import { readAuthorities } from "./authorities.ts";
import { networkFetch, storeFetch } from "./fetch.ts";
import { readNetwork, setNetwork } from "./network.ts";
import { pinOf } from "./pin.ts";

const before = getCACertificates("default");
let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "tidemark-authorities-"));
  file = join(dir, "ca.pem");
  await writeFile(file, `# of our own\n${TRIAL_TLS.cert}`);
});
let server: Server | null = null;
afterEach(async () => {
  setNetwork();
  setDefaultCACertificates(before);
  server?.close();
  server = null;
  await rm(dir, { recursive: true });
});

const OURS = TRIAL_TLS.cert.trim();
const given = () => [{ file, source: "--ca" }];

describe("the authorities of a process", () => {
  test("are those of Node where nothing is set, and no file is read", () => {
    const authorities = readAuthorities({ given: [], env: {} });
    authorities.prepare();
    expect(authorities.forStore(null)).toBe(undefined);
    expect(getCACertificates("default")).toEqual(before);
  });
  test("are more with --ca, and others with SSL_CERT_FILE", () => {
    readAuthorities({ given: given(), env: {} }).prepare();
    const trusted = getCACertificates("default").map((pem) => pem.trim());
    expect(trusted).toContain(OURS);
    expect(trusted.length).toBeGreaterThan(1);
    readAuthorities({ given: [], env: { SSL_CERT_FILE: file } }).prepare();
    const extra = new Set(getCACertificates("extra").map((pem) => pem.trim()));
    expect(
      getCACertificates("default")
        .map((pem) => pem.trim())
        .filter((pem) => !extra.has(pem)),
    ).toEqual([OURS]);
  });
  test("are others for stores with AWS_CA_BUNDLE", () => {
    const authorities = readAuthorities({ given: [], env: { AWS_CA_BUNDLE: file } });
    expect(authorities.forStore(null)?.startsWith(OURS)).toBe(true);
    expect(getCACertificates("default").some((pem) => pem.trim() === OURS)).toBe(false);
  });
  test("have those of a profile beside them, for its store", () => {
    const authorities = readAuthorities({ given: [], env: {} });
    expect(authorities.forStore(TRIAL_TLS.cert)?.endsWith(OURS)).toBe(true);
    expect(authorities.forStore(null)).toBe(undefined);
  });
  test.each(["SSL_CERT_FILE", "AWS_CA_BUNDLE"])(
    "%s that cannot be read, or holds none, is refused by its name",
    (name) => {
      for (const path of [join(dir, "missing.pem"), "/dev/null"]) {
        const authorities = readAuthorities({ given: [], env: { [name]: path } });
        const ask = () => (name === "SSL_CERT_FILE" ? authorities.prepare() : authorities.forStore(null));
        expect(ask).toThrow(new RegExp(`^${name}: `));
      }
    },
  );
});

describe("a client that asks a store with an authority of its own", () => {
  const listen = async () => {
    server = createServer(TRIAL_TLS, (_request, response) => void response.end("said"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  const pin = pinOf(new X509Certificate(TRIAL_TLS.cert).publicKey.export({ type: "spki", format: "der" }));
  const other = `sha256/${"A".repeat(43)}=`;
  const trusting = { ca: TRIAL_TLS.cert, pin: null };

  test("is refused without it and answered with it, by every client there is", async () => {
    const url = await listen();
    const limits = { answerMs: 5_000, mostAnswerBytes: 1_000, lookup: () => undefined };
    await expect(networkFetch(url)).rejects.toThrow();
    await expect(storeFetch({})(url)).rejects.toThrow();
    await expect(createAgentFetch({ ...limits, trust: null })(url)).rejects.toThrow();
    expect(await (await storeFetch({ trust: trusting })(url)).text()).toBe("said");
    expect(await (await createAgentFetch({ ...limits, trust: trusting })(url)).text()).toBe("said");
    setNetwork(readNetwork({ env: {}, authorities: given() }));
    expect(await (await networkFetch(url)).text()).toBe("said");
  });

  test("is answered by a key that is pinned, and by no other", async () => {
    const url = await listen();
    expect(await (await storeFetch({ trust: { ...trusting, pin: `${other}, ${pin}` } })(url)).text()).toBe("said");
    await expect(storeFetch({ trust: { ...trusting, pin: other } })(url)).rejects.toMatchObject({
      code: "TLS_FAILED",
      message: expect.stringContaining(pin),
    });
    // A pin takes nothing's place: the authority has to be trusted anyway.
    await expect(storeFetch({ trust: { ca: null, pin } })(url)).rejects.toThrow();
  });
});
