import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Candidate } from "./find.ts";
import { lookAt } from "./look.ts";
import { readGlobalStep } from "./read-global-step.ts";
import { readReadiness } from "./readiness.ts";

let watched: string;
beforeEach(async () => {
  watched = await mkdtemp(join(tmpdir(), "tidemark-readiness-"));
});
afterEach(() => rm(watched, { recursive: true, force: true }));

/** A safetensors file with one tensor of this many bytes. */
function safetensors(bytes = 64): Buffer {
  const header = Buffer.from(JSON.stringify({ weight: { dtype: "U8", shape: [bytes], data_offsets: [0, bytes] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(bytes, 7)]);
}

/** A zip file with one stored entry, as `torch.save` makes them. */
function zip(): Buffer {
  const [name, data] = [Buffer.from("archive/data.pkl"), Buffer.from("not really a pickle")];
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt32LE(crc32(data), 10);
  common.writeUInt32LE(data.length, 14);
  common.writeUInt32LE(data.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, name, data]);
  const central = Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000", "latin1"), common, Buffer.alloc(14), name]);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

async function put(relative: string, content: string | Buffer): Promise<string> {
  const path = join(watched, relative);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

async function judge(name: string, step: number, kind: Candidate["kind"] = "folder") {
  const candidate = { path: join(watched, name), name, step, kind };
  const look = await lookAt(candidate);
  if (look === null) throw new Error("it is gone");
  const readiness = await readReadiness(candidate, look);
  return readiness.says === "unfinished" ? readiness.why : readiness.says;
}

test("a model's description without any weights is the beginning of a checkpoint", async () => {
  await put("checkpoint-110/config.json", JSON.stringify({ architectures: ["Tiny"] }));
  await put("checkpoint-110/generation_config.json", "{}");
  expect(await judge("checkpoint-110", 110)).toBe("there are no weights beside config.json yet");
  await put("checkpoint-110/model.safetensors", safetensors());
  expect(await judge("checkpoint-110", 110)).toBe("unsaid");
  await put("checkpoint-100/trainer_state.json", "{}");
  expect(await judge("checkpoint-110", 110)).toBe("trainer_state.json is missing");
  await put("notes-1/state.json", "{}");
  expect(await judge("notes-1", 1)).toBe("unsaid");
});

describe("a file that was cut short is never part of a finished checkpoint", () => {
  test("safetensors: the header says where the last tensor ends", async () => {
    const path = await put("checkpoint-1/model.safetensors", safetensors());
    expect(await judge("checkpoint-1", 1)).toBe("unsaid");
    await truncate(path, safetensors().length - 1);
    expect(await judge("checkpoint-1", 1)).toBe("model.safetensors is cut short");
    await truncate(path, 20);
    expect(await judge("checkpoint-1", 1)).toBe("model.safetensors is cut short");
  });

  test("torch.save: the table of contents is written last", async () => {
    const path = await put("step_3/model.pt", zip());
    expect(await judge("step_3", 3)).toBe("unsaid");
    await truncate(path, zip().length - 1);
    expect(await judge("step_3", 3)).toBe("model.pt is cut short");
  });

  test("a single file with its table of contents is finished, one without is not", async () => {
    const path = await put("epoch=1-step=9.ckpt", zip());
    expect(await judge("epoch=1-step=9.ckpt", 9, "file")).toBe("finished");
    await truncate(path, zip().length - 30);
    expect(await judge("epoch=1-step=9.ckpt", 9, "file")).toBe("epoch=1-step=9.ckpt is cut short");
  });

  test("one that ends before it says what it is was cut too; what may be empty may be", async () => {
    const path = await put("step_3/model.safetensors", safetensors());
    await truncate(path, 5);
    expect(await judge("step_3", 3)).toBe("model.safetensors is cut short");
    await rm(path);
    await put("step_3/model.pt", "");
    expect(await judge("step_3", 3)).toBe("model.pt is cut short");
    await put("step_3/model.pt", "PK");
    expect(await judge("step_3", 3)).toBe("model.pt is cut short");
    await rm(join(watched, "step_3/model.pt"));
    await put("step_3/user_content.pt", "");
    await put("step_3/notes.bin", "");
    expect(await judge("step_3", 3)).toBe("unsaid");
  });

  test("several zips in one file, as PyTorch DCP writes tensors: the last one counts", async () => {
    const path = await put("step_3/model.pt", Buffer.concat([zip(), zip()]));
    expect(await judge("step_3", 3)).toBe("unsaid");
    await truncate(path, zip().length * 2 - 1);
    expect(await judge("step_3", 3)).toBe("model.pt is cut short");
  });

  test("files of no known format are not judged", async () => {
    await put("step_3/model.pt", "an old pickle, or anything else");
    await put("step_3/model.safetensors", "not one at all, whatever its name says");
    await put("step_3/notes.txt", "");
    expect(await judge("step_3", 3)).toBe("unsaid");
  });
});

describe("shards", () => {
  test("all that the names speak of have to be there", async () => {
    await put("checkpoint-2/model-00001-of-00003.safetensors", safetensors());
    await put("checkpoint-2/model-00003-of-00003.safetensors", safetensors());
    expect(await judge("checkpoint-2", 2)).toBe("model-00002-of-00003.safetensors is missing");
    await put("checkpoint-2/model-00002-of-00003.safetensors", safetensors());
    expect(await judge("checkpoint-2", 2)).toBe("unsaid");
  });

  test("all that the index lists have to be there, and the index has to be whole", async () => {
    const index = JSON.stringify({ weight_map: { a: "one.safetensors", b: "two.safetensors" } });
    const path = await put("checkpoint-2/model.safetensors.index.json", index);
    await put("checkpoint-2/one.safetensors", safetensors());
    expect(await judge("checkpoint-2", 2)).toBe("two.safetensors, named by model.safetensors.index.json, is missing");
    await put("checkpoint-2/two.safetensors", safetensors());
    expect(await judge("checkpoint-2", 2)).toBe("unsaid");
    await truncate(path, 20);
    expect(await judge("checkpoint-2", 2)).toBe("model.safetensors.index.json cannot be read");
  });
});

describe("frameworks say it themselves", () => {
  test("PyTorch DCP writes .metadata last, in every folder of shards", async () => {
    await put("step_5/model/__0_0.distcp", "shard");
    await put("step_5/optimizer/__0_0.distcp", "shard");
    await put("step_5/model/.metadata", "index");
    expect(await judge("step_5", 5)).toBe("optimizer/.metadata is missing");
    await put("step_5/optimizer/.metadata", "index");
    expect(await judge("step_5", 5)).toBe("finished");
  });

  test("of FSDP's folders the metadata is not the end: the Trainer's state is, and without it they are waited for", async () => {
    await put("checkpoint-6/pytorch_model_fsdp_0/__0_0.distcp", "shard");
    expect(await judge("checkpoint-6", 6)).toBe("pytorch_model_fsdp_0/.metadata is missing");
    await put("checkpoint-6/pytorch_model_fsdp_0/.metadata", "index");
    expect(await judge("checkpoint-6", 6)).toBe("unsaid");
    await put("checkpoint-6/optimizer_0/__0_0.distcp", "shard");
    expect(await judge("checkpoint-6", 6)).toBe("optimizer_0/.metadata is missing");
    await put("checkpoint-6/optimizer_0/.metadata", "index");
    await put("checkpoint-6/trainer_state.json", '{"global_step": 6');
    expect(await judge("checkpoint-6", 6)).toBe("trainer_state.json is cut short");
  });

  test("transformers' Trainer writes trainer_state.json after weights and optimizer", async () => {
    await put("checkpoint-7/training_args.bin", "arguments");
    expect(await judge("checkpoint-7", 7)).toBe("trainer_state.json is missing");
    await put("checkpoint-7/trainer_state.json", "{}");
    // Other files may follow it, so quiet is still wanted.
    expect(await judge("checkpoint-7", 7)).toBe("unsaid");
    await put("checkpoint-7/trainer_state.json", '{"global_step": 7, "log_his');
    expect(await judge("checkpoint-7", 7)).toBe("trainer_state.json is cut short");
  });

  test("Megatron names the newest finished iteration beside the folders", async () => {
    await put("iter_0000200/mp_rank_00/model_optim_rng.pt", zip());
    expect(await judge("iter_0000200", 200)).toBe("unsaid");
    await put("latest_checkpointed_iteration.txt", "100");
    expect(await judge("iter_0000200", 200)).toBe("latest_checkpointed_iteration.txt does not name it yet");
    await put("latest_checkpointed_iteration.txt", "200\n");
    expect(await judge("iter_0000200", 200)).toBe("finished");
  });

  test("in Megatron's distributed format the metadata has to be there too, whatever step the tracker names", async () => {
    await put("latest_checkpointed_iteration.txt", "900");
    await put("iter_0000200/common.pt", zip());
    expect(await judge("iter_0000200", 200)).toBe("metadata.json is missing");
    await put("iter_0000200/__0_0.distcp", "shard");
    expect(await judge("iter_0000200", 200)).toBe(".metadata is missing");
    await put("iter_0000200/.metadata", "index");
    expect(await judge("iter_0000200", 200)).toBe("metadata.json is missing");
    await put("iter_0000200/metadata.json", "{}");
    expect(await judge("iter_0000200", 200)).toBe("finished");
    await rm(join(watched, "latest_checkpointed_iteration.txt"));
    expect(await judge("iter_0000200", 200)).toBe("unsaid");
    await put("iter_0000300/common.pt", zip());
    expect(await judge("iter_0000300", 300)).toBe("unsaid");
  });

  test("a tag of DeepSpeed's without a number speaks of the folder with that name alone", async () => {
    await put("global_step40/zero_pp_rank_0_mp_rank_00_optim_states.pt", zip());
    await put("best/zero_pp_rank_0_mp_rank_00_optim_states.pt", zip());
    await put("latest", "best\n");
    expect(await judge("global_step40", 40)).toBe("unsaid");
    expect(await judge("best", 30)).toBe("finished");
  });

  test("DeepSpeed names the newest finished step in `latest`; inside a Trainer's folder the Trainer decides", async () => {
    await put("global_step40/zero_pp_rank_0_mp_rank_00_optim_states.pt", zip());
    await put("latest", "global_step20");
    expect(await judge("global_step40", 40)).toBe("latest does not name it yet");
    await put("latest", "global_step40");
    expect(await judge("global_step40", 40)).toBe("finished");
    await put("checkpoint-40/global_step40/zero_pp_rank_0_mp_rank_00_optim_states.pt", zip());
    await put("checkpoint-40/training_args.bin", "arguments");
    expect(await judge("checkpoint-40", 40)).toBe("trainer_state.json is missing");
    await put("checkpoint-40/trainer_state.json", "{}");
    expect(await judge("checkpoint-40", 40)).toBe("unsaid");
  });

  test("Orbax says when all of a step was committed, by a file or by its folder's name", async () => {
    const commit = (at: number | null) => JSON.stringify({ item_handlers: {}, commit_timestamp_nsecs: at });
    await put("100/_CHECKPOINT_METADATA", commit(null));
    await put("100/params.orbax-checkpoint-tmp-1/array", "half");
    expect(await judge("100", 100)).toBe("params.orbax-checkpoint-tmp-1/array is not committed");
    await rm(join(watched, "100/params.orbax-checkpoint-tmp-1"), { recursive: true });
    await put("100/params/array", "whole");
    await put("100/params/commit_success.txt", "the item, not the step");
    expect(await judge("100", 100)).toBe("commit_success.txt is missing");
    await put("100/_CHECKPOINT_METADATA", commit(1_795_344_398_659_113));
    // Versions that only rename write no more; others write one file more.
    expect(await judge("100", 100)).toBe("unsaid");
    await put("100/commit_success.txt", "now");
    expect(await judge("100", 100)).toBe("finished");
  });

  test("what Orbax says of one item is not said of a step that has several", async () => {
    await put("200/params/_CHECKPOINT_METADATA", '{"commit_timestamp_nsecs": 7}');
    await put("200/params/commit_success.txt", "done");
    expect(await judge("200", 200)).toBe("unsaid");
    await put("200/optimizer/_CHECKPOINT_METADATA", '{"commit_timestamp_nsecs": null}');
    expect(await judge("200", 200)).toBe("optimizer/commit_success.txt is missing");
    await put("200/optimizer/_CHECKPOINT_METADATA", '{"commit_times');
    expect(await judge("200", 200)).toBe("optimizer/_CHECKPOINT_METADATA is cut short");
  });

  test("a marker by agreement ends all questions", async () => {
    await put("step_1/model.bin", "weights");
    await put("step_1/.complete", "");
    expect(await judge("step_1", 1)).toBe("finished");
  });
});

describe("what programs in Python leave", () => {
  test.each([
    ["NaN, as fp16 training writes it", '{"global_step": 500, "log_history": [{"grad_norm": NaN, "loss": -Infinity}]}'],
    ["a byte order mark", '\ufeff{"global_step": 500}'],
  ])("a Trainer's state with %s is whole", async (_, state) => {
    await put("checkpoint-500/model.safetensors", safetensors());
    await put("checkpoint-500/trainer_state.json", state);
    expect(await judge("checkpoint-500", 500)).toBe("unsaid");
    expect(await readGlobalStep(join(watched, "checkpoint-500"))).toBe(500);
  });

  test("weights that were saved under a name of one's own need no state of training", async () => {
    await put("epoch_3/model.safetensors", safetensors());
    await put("epoch_3/config.json", "{}");
    await put("epoch_3/training_args.bin", "arguments");
    expect(await judge("epoch_3", 3)).toBe("unsaid");
    // With an optimizer beside it, it is meant to be gone on from.
    await put("epoch_3/optimizer.pt", zip());
    expect(await judge("epoch_3", 3)).toBe("trainer_state.json is missing");
  });

  test("an index of an earlier save does not count beside the one whole file", async () => {
    await put("step_500/model.safetensors", safetensors());
    const index = JSON.stringify({ weight_map: { w: "model-00001-of-00002.safetensors" } });
    await put("step_500/model.safetensors.index.json", index);
    expect(await judge("step_500", 500)).toBe("unsaid");
  });

  test("an index may name its files by paths of any writing, as loaders join them", async () => {
    await put("step_500/shards/one.safetensors", safetensors());
    const index = JSON.stringify({ weight_map: { a: "./shards//one.safetensors", b: "shards/./one.safetensors" } });
    await put("step_500/model.safetensors.index.json", index);
    expect(await judge("step_500", 500)).toBe("unsaid");
    await put("step_500/model.safetensors.index.json", index.replace("shards/./", "../shards/"));
    expect(await judge("step_500", 500)).toContain("../shards/one.safetensors, named by");
  });

  test("a name that is not UTF-8 is left out and named, and an empty folder is seen", async () => {
    await put("step_500/model.safetensors", safetensors());
    await writeFile(Buffer.concat([Buffer.from(join(watched, "step_500/caf")), Buffer.from([0xe9])]), "x");
    await mkdir(join(watched, "step_500/experts/empty"), { recursive: true });
    const look = await lookAt({ path: join(watched, "step_500"), kind: "folder" });
    expect(look?.files.map(({ relative }) => relative)).toEqual(["model.safetensors"]);
    expect(look?.leftOut).toEqual([{ name: "caf\ufffd", why: "its name is not UTF-8" }]);
    expect(look?.emptyFolders).toEqual(["experts/empty"]);
  });
});
