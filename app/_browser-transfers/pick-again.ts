import { fromInput, pickFiles, type ChosenFile } from "./file-access.ts";

/** Asks for files once more: with handles where the browser gives them, by a file input otherwise. */
export async function pickAgain(): Promise<ChosenFile[]> {
  const picked = await pickFiles();
  if (picked !== null) return picked.files;
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.addEventListener("change", () => resolve(fromInput(input.files ?? new DataTransfer().files).files));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  });
}
