// @vitest-environment happy-dom
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useFocusOnce } from "./use-focus-once.ts";

function Form({ isReady }: { isReady: boolean }) {
  const button = useFocusOnce(isReady);
  return (
    <>
      <input />
      <button ref={button} disabled={!isReady}>
        Restore
      </button>
    </>
  );
}

let root: Root;
beforeEach(async () => {
  const place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
  root.render(<Form isReady={false} />);
  await vi.waitFor(() => expect(document.querySelector("button")?.disabled).toBe(true));
});
afterEach(() => {
  root.unmount();
  document.body.replaceChildren();
});

/** Makes the form ready and returns the name of the focused element once its effects have run. */
async function focusedWhenReady(): Promise<string | undefined> {
  root.render(<Form isReady />);
  await vi.waitFor(() => expect(document.querySelector("button")?.disabled).toBe(false));
  // Effects run before the next task.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return document.activeElement?.tagName;
}

test("the button is focused as soon as it is enabled, also after another key", async () => {
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  expect(await focusedWhenReady()).toBe("BUTTON");
});

test.each([
  ["pressed", () => new Event("pointerdown", { bubbles: true })],
  ["gone to by a key", () => new KeyboardEvent("keydown", { key: "Tab", bubbles: true })],
])("the focus stays at a control that was %s meanwhile", async (_, event) => {
  const input = document.querySelector("input");
  input?.focus();
  input?.dispatchEvent(event());
  expect(await focusedWhenReady()).toBe("INPUT");
});
