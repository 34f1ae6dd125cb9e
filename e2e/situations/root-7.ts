import type { Root } from "./situation.ts";

export const root = {
  number: 7,
  title: "The importer",
  rows: [
    {
      situation: "A secret in a pasted rclone.conf of which the text is cut off at the cap",
      outcome: "It is refused with the length, and nothing of the key is shown.",
      test: "storage/import/read-import.test.ts > that is longer is refused",
    },
    {
      situation: "An endpoint of R2 that has the bucket as its path",
      outcome: "The bucket is taken from there, the endpoint is the account's.",
      test: "storage/import/read-import.test.ts > takes the bucket from an alias, from a command, and from R2's own way of writing the address",
    },
  ],
} satisfies Root;
