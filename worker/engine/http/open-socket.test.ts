import { expect, test } from "vitest";
import { faultOf, get, wire } from "./wire-tester.ts";

test.each(["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "100.100.100.200", "2852039166"])(
  "a signed request that leads to a metadata address (%s) is not sent, whoever signed it",
  async (host) => {
    for (const scheme of ["http", "https"]) {
      const fault = await faultOf(wire().send(get(`${scheme}://${host}/latest/meta-data/`)));
      expect(fault).toMatchObject({ code: "ENDPOINT_REFUSED", retry: "never" });
    }
  },
);
