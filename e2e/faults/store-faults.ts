import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { addCredential, type LoggedRequest, readLog, removeCredential } from "../stage/store-control.ts";
import type { FaultClass, Scene } from "./fault-class.ts";
import { slowly, whenAnswered } from "./pace.ts";

/** Stores that differ from Amazon's, keys that end, and places that are no store. */

const BOTH = ["up", "down"] as const;

/** A kind of store with everything odd it does, spoken to under its own name. */
const odd = (about: { name: string; says: string; quirks: string; provider: string }): FaultClass => ({
  name: `like-${about.name}`,
  says: `Nothing goes wrong, but the store is one that ${about.says}.`,
  catalogue: [15, 16, 17],
  bar: [26],
  directions: BOTH,
  quirks: about.quirks,
  provider: about.provider,
  uncounted: true,
  stallMs: 10_000,
  partsPerFault: 0,
  check: (_, ending) => (ending.retries === 0 ? [] : [`${ending.retries} parts were tried again`]),
});

const TEMPORARY = { accessKey: "temporary-key", secretKey: "temporary-secret-0123456789" };
const TOKEN = "temporary-session-token";
const asTemporary = () => ({
  AWS_ACCESS_KEY_ID: TEMPORARY.accessKey,
  AWS_SECRET_ACCESS_KEY: TEMPORARY.secretKey,
  AWS_SESSION_TOKEN: TOKEN,
});
const grant = async (scene: Scene, expiresInMs: number) => {
  await addCredential(scene.rig.store, { ...TEMPORARY, sessionToken: TOKEN, expiresAtMs: Date.now() + expiresInMs });
};
const HOUR_MS = 3_600_000;

/** What classes about keys that end in mid-transfer share: keys that are given before it, and again to go on. */
const LENT_KEYS = {
  catalogue: [26],
  bar: [21],
  directions: BOTH,
  shapes: ["one"],
  uncounted: true,
  flags: slowly,
  // One after another: with all requests under way at once, nothing would be asked for with keys that are gone.
  concurrency: 1,
  env: asTemporary,
  arm: (scene) => grant(scene, HOUR_MS),
  mend: (scene) => grant(scene, HOUR_MS),
} as const satisfies Partial<FaultClass>;

const whenBegun = (scene: Scene, copy: Parameters<typeof whenAnswered>[1]) =>
  whenAnswered(scene, copy, { op: scene.direction === "up" ? "CreateMultipartUpload" : "HeadObject", count: 1 });

/** Two for each connection: one in hand, one that was signed already. */
const MOST_RANGES = 2 * 96;

export const STORE_FAULTS: readonly FaultClass[] = [
  odd({ name: "r2", says: "takes equal parts only", quirks: "equal-parts", provider: "r2" }),
  odd({
    name: "b2",
    says: "refuses checksum headers and chunked bodies",
    quirks: "reject-checksums,reject-chunked",
    provider: "b2",
  }),
  odd({
    name: "storj",
    says: "takes parts of 64 MiB, lists in an order of its own and keeps little metadata",
    quirks: `min-part-bytes=${64 * 1024 * 1024},unordered-listing,no-part-number,max-metadata-bytes=2048,no-cors-api`,
    provider: "storj",
  }),
  odd({
    name: "gcs",
    says: "refuses signed Accept-Encoding and ignores conditions",
    quirks: "strict-signing,ignore-conditions,no-cors-api,reject-checksums",
    provider: "gcs",
  }),
  odd({
    name: "scaleway",
    says: "takes a thousand parts at most and no chunked bodies",
    quirks: "max-parts=1000,reject-chunked",
    provider: "other",
  }),
  odd({
    name: "gateway",
    says: "has ETags that are no MD5 and never answers 100-continue",
    quirks: "opaque-etags,no-continue",
    provider: "other",
  }),
  odd({
    name: "hasty",
    says: "closes a connection after one idle second",
    quirks: "keep-alive-ms=1",
    provider: "minio",
  }),
  odd({
    name: "unknown",
    says: "does all of that at once, and nobody said so",
    quirks:
      "equal-parts,reject-checksums,reject-chunked,no-continue,opaque-etags,ignore-conditions,max-parts=1000,max-metadata-bytes=1024",
    provider: "other",
  }),
  {
    name: "keys-expire",
    says: "Temporary keys end in mid-transfer; new ones are given and the same command goes on.",
    ...LENT_KEYS,
    mustEnd: ["CREDENTIALS_EXPIRED"],
    during: async (scene, copy) => {
      await whenBegun(scene, copy);
      await grant(scene, -1000);
      return undefined;
    },
  },
  {
    name: "keys-revoked",
    says: "The keys are taken away in mid-transfer.",
    ...LENT_KEYS,
    mustEnd: ["BAD_CREDENTIALS"],
    during: async (scene, copy) => {
      await whenBegun(scene, copy);
      await removeCredential(scene.rig.store, TEMPORARY.accessKey);
      return undefined;
    },
  },
  {
    name: "wrong-region",
    says: "The bucket is in another region than was said; the store names the right one.",
    catalogue: [27],
    bar: [26],
    directions: BOTH,
    quirks: "region=eu-central-1",
    uncounted: true,
    partsPerFault: 0,
    check: async (scene) => {
      const log = await readLog(scene.rig.store);
      const refused = log.filter(({ status }) => status >= 400 && status !== 404);
      scene.note({ refused: refused.length });
      const nameOf = ({ operation, key, partNumber }: Pick<LoggedRequest, "operation" | "key" | "partNumber">) =>
        `${operation} ${key} ${partNumber ?? ""}`;
      const planned = Map.groupBy(scene.data, ({ op: operation, ...rest }) => nameOf({ operation, ...rest }));
      // Ranges of one object cannot be told apart, those of a guess that the key is one neither: of them only so many are under way.
      const isRange = (one: LoggedRequest) => one.operation === "GetObject" && planned.get(nameOf(one))?.length !== 1;
      // Whatever is under way when the region becomes known is refused; what goes again knows it.
      const again = refused.filter(
        (one) =>
          !isRange(one) &&
          refused.some((other) => nameOf(other) === nameOf(one) && other.atMs < one.atMs - one.durationMs),
      );
      const ranges = refused.filter(isRange);
      return [
        ...(again.length === 0
          ? []
          : [`${again.length} requests were refused again after the store had named the region`]),
        ...(ranges.length <= MOST_RANGES ? [] : [`${ranges.length} ranges were refused: the region was not learned`]),
      ];
    },
  },
  {
    name: "redirected",
    retryForMs: { short: 1_500 },
    says: "Something sends the requests on to another host.",
    catalogue: [27],
    bar: [10],
    directions: BOTH,
    uncounted: true,
    mustEnd: ["INTERCEPTED", "WRONG_REGION"],
    mend: null,
    lastsMs: ({ scale }) => (scale === "short" ? 15_000 : 120_000),
    arm: async (scene) => {
      const trap = await listen(createServer((_, answer) => void answer.end("caught")));
      trap.server.on("request", () => scene.note({ caught: "yes" }));
      const status = scene.random.pick([301, 302, 307, 308]);
      const first = await listen(
        createServer((asked, answer) => {
          asked.resume();
          answer.writeHead(status, { location: `http://localhost:${trap.port}${asked.url ?? "/"}` }).end();
        }),
      );
      places.set(scene, { port: first.port, close: () => [trap.server, first.server].map((one) => one.close()) });
    },
    endpoint: (scene) => `http://127.0.0.1:${places.get(scene)?.port ?? 0}`,
    check: (scene) => {
      places.get(scene)?.close();
      return scene.facts["caught"] === undefined
        ? []
        : ["it followed the redirect to another host, with its signature"];
    },
  },
  {
    name: "not-http",
    retryForMs: { short: 1_500 },
    says: "Something answers that does not speak HTTP.",
    catalogue: [12],
    bar: [10],
    directions: BOTH,
    uncounted: true,
    mustEnd: ["UNEXPECTED_ANSWER", "INTERCEPTED", "LINK_DOWN"],
    mend: null,
    lastsMs: ({ scale }) => (scale === "short" ? 15_000 : 120_000),
    arm: async (scene) => {
      const words = scene.random.pick([
        "SSH-2.0-OpenSSH_9.9\r\n",
        "220 mail ready\r\n",
        "\u0000\u0001\u0002\u0003",
        "HTTP/9 banana\r\n\r\n",
      ]);
      const server = createTcpServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => socket.end(words));
      });
      const place = await listen(server);
      places.set(scene, { port: place.port, close: () => server.close() });
    },
    endpoint: (scene) => `http://127.0.0.1:${places.get(scene)?.port ?? 0}`,
    check: (scene) => {
      places.get(scene)?.close();
      return [];
    },
  },
  {
    name: "tls-on-a-plain-port",
    says: "The endpoint says https, and a store without TLS listens there.",
    catalogue: [27],
    bar: [10],
    directions: BOTH,
    uncounted: true,
    mustEnd: ["TLS_FAILED"],
    mend: null,
    endpoint: (scene) => scene.rig.store.endpoint.replace("http:", "https:"),
  },
];

/** Servers of a trial that are no store. */
const places = new WeakMap<Scene, { port: number; close: () => unknown }>();

async function listen<T extends Server | TcpServer>(server: T): Promise<{ server: T; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}
