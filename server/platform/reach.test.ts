import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { listObjects } from "#storage/s3/listing.ts";
import {
  addTestProfile,
  callAs,
  openTestHub,
  openTestStore,
  profileFor,
  type TestHub,
} from "../testing/open-test-hub.ts";
import { readReach, refuseEndpoint, whyRefused, type Reach } from "./reach.ts";

const fault = (code: string) => expect.objectContaining({ code });
const open = readReach({}, { isLoopback: true });
const closed = readReach({}, { isLoopback: false });
const withWords = (words: Record<string, string>) => readReach(words, { isLoopback: false });
const at = (...addresses: string[]): Reach => ({ rules: closed, resolve: async () => addresses });

describe("where a store may be", () => {
  it.each(["127.0.0.1", "10.1.2.3", "::1", "fd12::1", "::ffff:10.0.0.1"])(
    "may be private (%s) where that is allowed",
    (address) => {
      expect(whyRefused(open, "http://store.lan:41234")(address)).toBeNull();
      expect(whyRefused(closed, "https://store.lan")(address)).toContain("TIDEMARK_ALLOW_ENDPOINTS");
    },
  );

  it("is allowed by network, by host, and by host and port, and for nothing else", () => {
    const rules = withWords({
      TIDEMARK_ALLOW_ENDPOINTS: "10.20.0.0/16, fd12::/16 minio.lan,store.lan:9000 192.168.1.4",
    });
    const why = (endpoint: string, address: string) => whyRefused(rules, endpoint)(address);
    expect(why("http://any.example:41234", "10.20.3.4")).toBeNull();
    expect(why("http://any.example:41234", "fd12::7")).toBeNull();
    expect(why("http://any.example:41234", "192.168.1.4")).toBeNull();
    expect(why("http://minio.lan:41234", "172.16.0.1")).toBeNull();
    expect(why("http://store.lan:9000", "172.16.0.1")).toBeNull();
    expect(why("http://store.lan:9001", "172.16.0.1")).not.toBeNull();
    expect(why("http://any.example", "10.21.0.1")).not.toBeNull();
    expect(why("http://any.example", "192.168.1.5")).not.toBeNull();
  });

  it("is never a metadata address, whatever is allowed", () => {
    const everything = withWords({
      TIDEMARK_ALLOW_ENDPOINTS: "169.254.0.0/16,100.100.100.200,fd00::/8,metadata.lan",
      TIDEMARK_ALLOW_PRIVATE_ENDPOINTS: "1",
    });
    for (const address of ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254"]) {
      expect(whyRefused(everything, "http://metadata.lan")(address)).toContain("never allowed");
      expect(whyRefused(open, "http://metadata.lan")(address)).toContain("never allowed");
    }
  });

  it("is spoken to in public by TLS and on the ports of stores, unless more is allowed", () => {
    const why = (rules: typeof closed, endpoint: string) => whyRefused(rules, endpoint)("52.95.110.1");
    for (const fine of ["https://s3.example.com", "https://s3.example.com:9000"]) expect(why(closed, fine)).toBeNull();
    expect(why(closed, "https://s3.example.com:22")).toContain("port 22");
    expect(why(closed, "http://s3.example.com")).toContain("in the clear");
    expect(why(open, "http://s3.example.com")).toContain("in the clear");
    expect(why(withWords({ TIDEMARK_ENDPOINT_PORTS: "22" }), "https://s3.example.com:22")).toBeNull();
    expect(why(withWords({ TIDEMARK_ALLOW_HTTP_ENDPOINTS: "1" }), "http://s3.example.com")).toBeNull();
  });

  it("is refused when any address of its name is, and when it is written in brackets or as one number", async () => {
    const refused = fault("ENDPOINT_REFUSED");
    const name = "https://s3.example.com";
    await expect(refuseEndpoint(name, at("52.95.110.1", "169.254.169.254"))).rejects.toEqual(refused);
    await expect(refuseEndpoint(name, at("52.95.110.1", "10.0.0.1"))).rejects.toEqual(refused);
    await expect(refuseEndpoint(name, at("52.95.110.1"))).resolves.toBeUndefined();
    for (const written of [
      "http://[::ffff:169.254.169.254]:80",
      "http://2852039166",
      "http://0xa9fea9fe",
      "http://0",
    ]) {
      await expect(refuseEndpoint(written, at()), written).rejects.toEqual(refused);
    }
  });
});

describe("a hub whose name server lies", () => {
  let test: TestHub;
  let answers: string[] = [];
  /** Answered once each; then the last one stays. */
  const resolve = async (): Promise<string[]> => [(answers.length > 1 ? answers.shift() : answers[0]) ?? ""];
  const start = async (rules: Reach["rules"]): Promise<void> => {
    test = await openTestHub({}, { rules, resolve });
  };
  beforeEach(() => {
    answers = [];
  });
  afterEach(() => test.close());

  it("reaches a store by name while the name says an allowed address", async () => {
    await start(open);
    const store = await openTestStore();
    onTestFinished(store.close);
    answers = ["127.0.0.1"];
    const id = await addTestProfile(test.hub, store.endpoint.replace("127.0.0.1", "store.test"));
    const { client } = await test.hub.stores.open(id);
    expect((await listObjects(client, { bucket: "training", prefix: "" }).next()).done).toBe(true);
    const tested = await callAs(test.hub, "admin").profiles.test({ id, profile: null, credential: null });
    expect(tested.ok).toBe(true);
  });

  it("connects to nothing when the name means another address at its use than at its check", async () => {
    await start({ ...closed, allowHttp: true });
    let connections = 0;
    const inner = createServer((socket) => {
      connections++;
      socket.end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void inner.close());
    await once(inner, "listening");
    const { port } = inner.address() as AddressInfo;
    test.hub.reach.rules.ports = new Set([port]);
    const endpoint = `http://store.test:${port}`;
    const admin = callAs(test.hub, "admin").profiles;
    const credential = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };
    answers = ["52.95.110.1", "127.0.0.1"];
    const tested = await admin.test({ id: null, profile: profileFor(endpoint), credential });
    expect(tested.ok).toBe(false);
    expect(tested.checks[0]?.fault).toMatchObject({ code: "ENDPOINT_REFUSED" });
    expect(JSON.stringify(tested)).not.toMatch(/127\.0\.0\.1|private address/);
    answers = ["52.95.110.1", "127.0.0.1"];
    const id = await addTestProfile(test.hub, endpoint);
    const { client } = await test.hub.stores.open(id);
    await expect(listObjects(client, { bucket: "training", prefix: "" }).next()).rejects.toEqual(
      fault("ENDPOINT_REFUSED"),
    );
    expect(connections).toBe(0);
  });

  it("refuses an address it was allowed once and is not any more", async () => {
    await start(open);
    const id = await addTestProfile(test.hub, "http://127.0.0.1:9");
    test.hub.stores.forget(id);
    Object.assign(test.hub.reach.rules, closed);
    await expect(test.hub.stores.open(id)).rejects.toEqual(fault("ENDPOINT_REFUSED"));
  });
});

describe("what people who are no admins read of it", () => {
  it("is that a test failed, not how the network answered", async () => {
    const test = await openTestHub();
    onTestFinished(test.close);
    const id = await addTestProfile(test.hub, "http://127.0.0.1:9");
    await callAs(test.hub, "admin").profiles.test({ id, profile: null, credential: null });
    const seenBy = async (who: "admin" | "operator" | "viewer") =>
      (await callAs(test.hub, who).profiles.list())[0]?.lastTest?.checks.find(({ fault: found }) => found !== null)
        ?.fault;
    expect(await seenBy("admin")).toMatchObject({ code: "LINK_DOWN", detail: "ECONNREFUSED" });
    for (const who of ["operator", "viewer"] as const) expect(await seenBy(who)).toEqual({ code: "LINK_DOWN" });
  });
});
