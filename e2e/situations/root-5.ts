import type { Root } from "./situation.ts";

export const root = {
  number: 5,
  title: "Stored bytes are the bytes",
  rows: [
    {
      situation: "An object with `Content-Encoding: gzip`, `br` or `zstd`",
      outcome: "`cp`, `sync` and `cat` give its bytes as they are stored.",
      test: "e2e/process/stored-bytes.test.ts > an object stored as %s comes as it is stored, by cp, sync and cat",
    },
    {
      situation: "An object whose store says `Content-Encoding: aws-chunked`",
      outcome: "Its bytes come as they are stored.",
      test: "e2e/process/stored-bytes.test.ts > an object that its store calls aws-chunked comes as it is stored",
    },
    {
      situation: "A checkpoint of another tool whose objects have a `Content-Encoding`",
      outcome: "It is registered, gone on from and restored with its bytes as they are stored.",
      test: "e2e/process/encoded-restored.test.ts > a checkpoint whose objects are stored as %s is registered and restored as its bytes are stored",
    },
    {
      situation: "An object with a key of its own (SSE-C)",
      outcome: "It is named at once, in the store's words; all others are fetched. Exit code 8.",
      test: "e2e/process/stored-bytes.test.ts > an object with a key of its own (SSE-C) is named in the store's words and at once, and the others are fetched",
    },
    {
      situation: "An object that is a web page (`Content-Type: text/html`)",
      outcome: "It is no answer of somebody else: `cp`, `sync` and `cat` give it.",
      test: "e2e/process/stored-bytes.test.ts > an object that is a web page is no answer of somebody else: cp, sync and cat give it",
    },
    {
      situation: "An object that the bucket encrypts with a key (SSE-KMS) which the access key may not use",
      outcome: "It is named with the right that lacks (`kms:Decrypt`); all others are fetched. Exit code 8.",
      test: "storage/answers/faults.test.ts > a right that lacks on a key of the bucket is named",
    },
    {
      situation: "An object with an encoding, downloaded by a browser, which would undo it",
      outcome: "The store is asked not to say it, and the bytes come as they are stored.",
      test: "app/_browser-transfers/engine/download-file.test.ts > that is stored with an encoding comes as it is stored, though the browser would undo it",
    },
    {
      situation: "A proxy that encodes bytes on the way",
      outcome: "It is refused: the length is not that of the object.",
      test: "storage/answers/check-range.test.ts > %s",
    },
    {
      situation: "An archived object (`GLACIER`, `DEEP_ARCHIVE`) among others, in `cp` and `cat`",
      outcome: "It is named as archived, with what to do; all others are fetched. Exit code 8.",
      test: "e2e/process/stored-bytes.test.ts > an archived object is named as that, with what to do, and the others are fetched",
    },
    {
      situation: "A checkpoint of another tool with archived objects",
      outcome: "The list names the first one; registering it is refused with their names, until they are brought back.",
      test: "server/core/checkpoints/external/assert-readable.test.ts > objects in an archive are named, but for those that somebody had brought back; no other is asked for",
    },
    {
      situation: "A rule of the bucket moved a checkpoint's objects to an archive, and somebody restores it",
      outcome:
        "It is refused before it begins, with the files by name and what to do. Files that are not archived can be chosen.",
      test: "server/core/checkpoints/refuse-archived.test.ts > a restore of archived objects is refused before it begins, with the files by name; of others it is not",
    },
    {
      situation: "The same, and a program is to go on from it",
      outcome: "Its node is told so before it asks for a byte.",
      test: "server/core/checkpoints/refuse-archived.test.ts > a node that would go on from such a checkpoint is told so before it asks for a byte",
    },
    {
      situation: "A store that says `EncodingType` url and leaves `+` as it is",
      outcome: "The rest of the page, or one small request, tells what its `+` are.",
      test: "e2e/process/stored-bytes.test.ts > a store that says that it encodes names, and leaves plus signs as they are, is understood",
    },
  ],
} satisfies Root;
