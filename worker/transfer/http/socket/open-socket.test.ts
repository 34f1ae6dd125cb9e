import { expect, test } from "vitest";
import { createTargets } from "./open-socket.ts";
import { faultOf, get, httpClient } from "#worker/testing/http-client-tester.ts";

test.each(["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "100.100.100.200", "2852039166"])(
  "a signed request that leads to a metadata address (%s) is not sent, whoever signed it",
  async (host) => {
    for (const scheme of ["http", "https"]) {
      const fault = await faultOf(httpClient().send(get(`${scheme}://${host}/latest/meta-data/`)));
      expect(fault).toMatchObject({ code: "ENDPOINT_REFUSED", retry: "never" });
    }
  },
);

test.each([
  "/bucket/key?X-Amz-Date=20261126T000000Z&X-Amz-Signature=abc",
  "/bucket/a%20b//c.bin",
  "/bucket/./a/../b",
  "/bucket/%2e%2E/b",
  "/bucket/.hidden",
  "/bucket/b c",
  "/?list-type=2",
  "",
  "1/elsewhere",
  ".elsewhere.example/",
  "@elsewhere.example/",
  "?at=once",
  "/bucket/a#b",
])("what follows an origin that is known already is read as a URL would be: %s", (rest) => {
  const targetOf = createTargets();
  targetOf("http://store.example:9000/first");
  const text = `http://store.example:9000${rest}`;
  const read = (from: string) => {
    try {
      return createTargets()(from);
    } catch {
      return "no URL";
    }
  };
  const known = () => {
    try {
      return targetOf(text);
    } catch {
      return "no URL";
    }
  };
  expect(known()).toEqual(read(text));
});
