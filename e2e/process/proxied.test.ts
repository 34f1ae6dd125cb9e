import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openProxy, type ProxyOptions, type TestProxy } from "#storage/testing/open-proxy.ts";
import { openProxiedNamespace, whyNoNamespace, type ProxiedNamespace } from "../link/proxied-namespace.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addToken } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** The real program where a proxy leads to the store, and where only a proxy leads out. */
let stage: Stage;
const proxies: TestProxy[] = [];
beforeAll(async () => {
  stage = await openStage();
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close();
});
afterAll(() => stage.close());

async function open(options: ProxyOptions = {}): Promise<TestProxy> {
  const proxy = await openProxy(options);
  proxies.push(proxy);
  return proxy;
}

const PASSWORD = "s3cret-of-the-proxy";
const withLogin = ({ url }: TestProxy, password = PASSWORD) => url.replace("://", `://me:${password}@`);
const tidemark = (args: string[], env: Record<string, string>) =>
  runOnce(testedWorker(), [...args], {
    env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(stage.dir, "state"), TIDEMARK_RETRY_FOR: "2s", ...env },
  });

describe("a copy there and back", () => {
  test.each(["http", "socks5"] as const)("goes through a proxy (%s) with a login", async (kind) => {
    const proxy = await open({ kind, login: `me:${PASSWORD}` });
    const env = { ALL_PROXY: withLogin(proxy), NO_PROXY: "<-loopback>" };
    const [file, back] = [join(stage.dir, `there-${kind}`), join(stage.dir, `back-${kind}`)];
    writeFileSync(file, Buffer.alloc(9_000_000, kind));
    const at = `s3://${stage.store.bucket}/proxied/${kind}`;
    for (const args of [
      ["cp", file, at],
      ["cp", at, back],
      ["ls", at],
    ]) {
      const before = proxy.asked.length;
      const outcome = await tidemark(args, env);
      expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
      expect(proxy.asked.length).toBeGreaterThan(before);
    }
    expect(readFileSync(back).equals(readFileSync(file))).toBe(true);
    // Whoever names no proxy, or this destination, goes without.
    const before = proxy.asked.length;
    const direct = await tidemark(["ls", at, "--proxy", proxy.url, "--no-proxy", "127.0.0.0/8"], {});
    expect(direct, direct.stderr).toMatchObject({ code: 0 });
    expect(proxy.asked.length).toBe(before);
  });

  test.each([
    ["asks for a login", { login: "me:other" }, 4],
    ["refuses", { refuseWith: 403 }, 4],
    ["says nothing", { hangs: true }, 5],
  ] as const)("ends with one sentence, without the password, when the proxy %s", async (_, options, code) => {
    const proxy = await open({ kind: "socks5", ...options });
    const outcome = await tidemark(["ls", `s3://${stage.store.bucket}/`, "--proxy", withLogin(proxy)], {
      TIDEMARK_NO_PROXY: "<-loopback>",
      TIDEMARK_RETRY_FOR: "1s",
    });
    expect(outcome, outcome.stderr).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toContain(proxy.url);
    expect(outcome.stderr).not.toContain(PASSWORD);
    expect(outcome.stderr.split("\n").filter((line) => line.startsWith("tidemark:"))).toHaveLength(1);
  });
});

test("the doctor names the proxy of the store and of the hub, and looks at both through it", async () => {
  const proxy = await open();
  const outcome = await tidemark(["doctor", `s3://${stage.store.bucket}/doctor`, "--hub", stage.hub.url, "--json"], {
    HTTP_PROXY: proxy.url,
    NO_PROXY: "<-loopback>",
  });
  for (const what of ["store", "hub"]) {
    expect(outcome.stdout).toContain(`"check":"${what} proxy"`);
    expect(outcome.stdout).toMatch(new RegExp(`"check":"${what} connection","outcome":"ok"`));
  }
  expect(outcome.stdout).toContain("is a Tidemark hub");
  expect(proxy.asked.some((one) => one.endsWith("/healthz"))).toBe(true);
  expect(outcome, outcome.stdout).toMatchObject({ code: 0 });
});

/** Says why it is left out: in CI it is a failure, because the main job would go unproven. */
const whyNot = whyNoNamespace();
const mayMiss = whyNot !== null && process.env["CI"] === undefined;
if (mayMiss) console.log(`The test of a network with a proxy alone is left out: ${whyNot}.`);

describe.skipIf(mayMiss)("in a network out of which only a proxy leads", () => {
  let inside: ProxiedNamespace;
  beforeAll(async () => {
    inside = await openProxiedNamespace();
  });
  afterAll(() => inside.close());

  test("a node enrols, uploads, commits, and another one restores", async () => {
    const { hub, store, client } = stage;
    const [hubPort, storePort] = [new URL(hub.url).port, new URL(store.endpoint).port];
    // Names that no resolver knows: only the proxy can reach them.
    const hosts = { "hub.example": "127.0.0.1", "store.example": "127.0.0.1" };
    const proxy = await open({ hosts, listenOn: inside.proxyAddress, login: `me:${PASSWORD}` });
    const profile = {
      name: "behind the proxy",
      provider: "minio" as const,
      bucket: store.bucket,
      region: "us-east-1",
      prefix: "behind/",
      endpoint: store.endpoint,
      workerEndpoint: `http://store.example:${storePort}`,
      browserEndpoint: null,
      addressing: "path" as const,
    };
    const credential = { accessKeyId: store.accessKey, secretAccessKey: store.secretKey };
    const { id: profileId } = await client.profiles.create.mutate({ profile, credential });
    const token = await addToken(client, { profileId, maxUses: 2 });
    const start = async (name: string, script: string) => {
      const worker = await stage.startNode({
        name,
        hubUrl: `http://hub.example:${hubPort}`,
        token,
        run: "behind",
        under: inside.under,
        flags: ["--allow-http", "--settle", "50ms"],
        program: [process.execPath, "-e", script],
        env: { HTTP_PROXY: withLogin(proxy), HTTPS_PROXY: withLogin(proxy), NO_PROXY: "" },
      });
      const { code } = await worker.exited;
      expect(code, worker.lines.join("\n")).toBe(0);
      expect(worker.lines.join("\n")).not.toContain(PASSWORD);
      return worker;
    };
    const folder = join(stage.folderOf("first"), "checkpoint-7");
    const bytes = Buffer.alloc(3_000_000, "weights");
    mkdirSync(stage.folderOf("first"), { recursive: true });
    await start(
      "first",
      `const fs = require("node:fs"); const at = ${JSON.stringify(folder)};
       fs.mkdirSync(at + ".tmp"); fs.writeFileSync(at + ".tmp/model.safetensors", Buffer.alloc(3_000_000, "weights"));
       fs.writeFileSync(at + ".tmp/trainer_state.json", "{}"); fs.renameSync(at + ".tmp", at);`,
    );
    const { checkpoints } = await client.runs.get.query({ run: runName.parse("behind") });
    expect(checkpoints).toMatchObject([{ step: 7, state: "complete" }]);
    const second = await start("second", "console.log(`resumes at ${process.env.TIDEMARK_RESUME_PATH}`)");
    expect(second.lines.join("\n")).toContain("checkpoint-7");
    const back = readFileSync(join(stage.folderOf("second"), "checkpoint-7", "model.safetensors"));
    expect(back.equals(bytes)).toBe(true);
    expect(proxy.asked.some((one) => one.includes("hub.example"))).toBe(true);
    expect(proxy.asked.some((one) => one.includes("store.example"))).toBe(true);
  });
});
