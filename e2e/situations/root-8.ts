import type { Root } from "./situation.ts";

export const root = {
  number: 8,
  title: "Formats",
  rows: [
    {
      situation: "An npy header of Python 2 (`2L`), of numpy 2 (`np.int64(2)`), or with double quotes",
      outcome: "It is read.",
      test: "storage/inspect/hostile.test.ts > of an array by %s is read",
    },
    {
      situation: "A safetensors header that names a tensor twice",
      outcome: "It is refused by the name, where JSON would take the last one without a word.",
      test: "storage/inspect/hostile.test.ts > that names a tensor twice is refused, with the name",
    },
    {
      situation: "A safetensors header of 126 MB",
      outcome: "It is refused by its length (the format allows 100 MB), and nothing of it is read.",
      test: "storage/inspect/hostile.test.ts > of 126 MB is refused by its length, and nothing of it is read",
    },
    {
      situation: 'A safetensors header `{},"__metadata__":…`',
      outcome: "It is named for what it is: no library reads it, and it has no tensors.",
      test: "storage/inspect/hostile.test.ts > that begins empty and goes on with its metadata is named for what it is",
    },
    {
      situation: "A safetensors file that is a pointer of Git LFS, a sign-in page, JSON or gzip",
      outcome: "It is named for what it is.",
      test: "storage/inspect/hostile.test.ts > that is %s under the name of a safetensors file is named as that",
    },
    {
      situation: "In a bucket of another tool: a step without optimizer",
      outcome: "It is called weights only. Registered, it is no step to go on from: the one before it is.",
      test: "server/features/external-checkpoints/adopt.test.ts > of weights alone is not what a run goes on from: the step before it is, also after a rebuild",
    },
    {
      situation: "In a bucket of another tool: half of the shards",
      outcome: "It is incomplete, with the first missing one by name, and cannot be registered.",
      test: "storage/detect/recognise.test.ts > with half of its shards it is incomplete",
    },
    {
      situation:
        "A `.pt`, `.ckpt`, `.bin`, `.npz` or safetensors file that is empty, a login page, or a pointer of Git LFS",
      outcome: "It is named as that. Exit code 6.",
      test: "storage/inspect/hostile.test.ts > %s that is a page, a pointer of Git LFS, or empty is named as that",
    },
    {
      situation: "A file of weights that was packed by gzip, xz, bzip2, zstd or lz4 and kept its name (`model.pt`)",
      outcome: "It is named as that.",
      test: "storage/inspect/hostile.test.ts > in %s is named as that, whatever file of a model it should be",
    },
    {
      situation: "A `.pth.tar` of PyTorch before 0.1.10, which is a tar file",
      outcome: "It is named as that, under each name that PyTorch's files have.",
      test: "storage/inspect/hostile.test.ts > of a tar file is named by every name that PyTorch's files have",
    },
    {
      situation: "An `.npz` or a PyTorch archive that has an entry twice",
      outcome: "A note names the entry: loaders take the last one.",
      test: "storage/inspect/hostile.test.ts > an archive that has a name twice is told by that name: loaders take the last, whatever is shown of both",
    },
  ],
} satisfies Root;
