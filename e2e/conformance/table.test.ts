import type { S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, it } from "vitest";
import { plainClient, type S3Server } from "../servers/run-binary.ts";
import { BROWSE_CASES } from "./browse-cases.ts";
import { BUCKET_CASES } from "./bucket-cases.ts";
import type { Case, CaseContext } from "./case.ts";
import { LISTING_CASES } from "./listing-cases.ts";
import { MULTIPART_CASES } from "./multipart-cases.ts";
import { OBJECT_CASES } from "./object-cases.ts";
import { serverRows } from "./servers.ts";
import { SIGNATURE_CASES } from "./signature-cases.ts";
import { STORAGE_CASES } from "./storage-cases.ts";

/**
 * The contract: what storage/ relies on, held against the embedded store and against real servers. A sentence that fails
 * on a real server is either wrong or an exception that the table states.
 */

const GROUPS: Readonly<Record<string, readonly Case[]>> = {
  buckets: BUCKET_CASES,
  objects: OBJECT_CASES,
  listing: LISTING_CASES,
  multipart: MULTIPART_CASES,
  signatures: SIGNATURE_CASES,
  "our storage code": STORAGE_CASES,
  "looking around": BROWSE_CASES,
};

for (const row of await serverRows()) {
  if ("missing" in row) {
    console.warn(`NOT RUN on ${row.name}: ${row.missing}. Elsewhere than here (in CI) this is a failure.`);
    describe.skip(`${row.name} (not run: ${row.missing})`, () => {
      for (const cases of Object.values(GROUPS)) for (const { name } of cases) it(name, () => undefined);
    });
    continue;
  }
  describe(row.name, () => {
    let server: S3Server;
    let client: S3Client;
    let serial = 0;
    beforeAll(async () => {
      server = await row.start();
      client = plainClient(server);
    });
    afterAll(async () => {
      client?.destroy();
      await server?.stop();
    });
    const contextOf = (): CaseContext => {
      serial += 1;
      return { server, client, bucket: server.bucket, prefix: `case-${serial}/` };
    };
    describe.each(Object.entries(GROUPS))("%s", (_, cases) => {
      for (const entry of cases) {
        const reason = entry.differs?.[row.name];
        if (reason === undefined) it(entry.name, () => entry.run(contextOf()));
        else it.fails(`does not hold here (${reason}): ${entry.name}`, () => entry.run(contextOf()));
      }
    });
  });
}
