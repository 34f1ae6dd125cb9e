import { describe, expect, test } from "vitest";
import { filesOfRank } from "./rank-files.ts";

const deepspeed = [
  "config.json",
  "global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt",
  "global_step500/zero_pp_rank_1_mp_rank_00_optim_states.pt",
  "global_step500/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
  "global_step500/mp_rank_00_model_states.pt",
  "rng_state_0.pth",
  "rng_state_1.pth",
];

describe("the files of a rank", () => {
  test("are its own shards and what all ranks load", () => {
    expect(filesOfRank(deepspeed, { rank: 1, of: 2 })).toEqual([
      "config.json",
      "global_step500/zero_pp_rank_1_mp_rank_00_optim_states.pt",
      "global_step500/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
      "global_step500/mp_rank_00_model_states.pt",
      "rng_state_1.pth",
    ]);
    expect(filesOfRank(["model.json", "shard_rank0.pt", "shard-rank-10.pt"], { rank: 0, of: 11 })).toEqual([
      "model.json",
      "shard_rank0.pt",
    ]);
  });

  test("are refused when there are more ranks than were said", () => {
    expect(() => filesOfRank(deepspeed, { rank: 0, of: 1 })).toThrow("more than 1 ranks");
  });

  test("are never guessed: not in layouts whose ranks share files, and not where no name tells", () => {
    expect(() => filesOfRank([".metadata", "__0_0.distcp", "__1_0.distcp"], { rank: 0, of: 2 })).toThrow(
      "restore all files",
    );
    expect(() => filesOfRank(["model-00001-of-00002.safetensors"], { rank: 0, of: 2 })).toThrow("restore all files");
    expect(() => filesOfRank(["iter_5/mp_rank_00_001/model.pt"], { rank: 0, of: 2 })).toThrow("restore all files");
  });
});
