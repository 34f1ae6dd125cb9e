// @vitest-environment happy-dom
import { startTransition, useState } from "react";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import { useTypedText } from "./use-typed-text.ts";

/** Longer than React renders before it lets the browser handle a key. */
const SLICE_MS = 8;

/** Takes so long to render that keys are pressed meanwhile; says so each time. */
function SlowRow({ onRender }: { onRender: () => void }) {
  onRender();
  const end = performance.now() + SLICE_MS;
  while (performance.now() < end);
  return null;
}

function Field({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const { typed, type, field } = useTypedText(value, onChange);
  return <input ref={field} value={typed} onChange={(event) => type(event.target.value)} />;
}

function Page({ onRow }: { onRow: (value: string) => void }) {
  const [value, setValue] = useState("");
  return (
    <>
      {/* As the address of the page does: the answer is a transition. */}
      <Field value={value} onChange={(text) => startTransition(() => setValue(text))} />
      {[1, 2, 3, 4, 5, 6].map((row) => (
        <SlowRow key={`${row} ${value}`} onRender={() => onRow(value)} />
      ))}
      <output>{value}</output>
    </>
  );
}

/** As a person does: a letter is added to what the field shows. */
function press(letter: string): void {
  const input = document.querySelector("input");
  if (input === null) throw new Error("the page has no field");
  // React hears of no change that is made through its own property of the field.
  const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  own?.set?.call(input, input.value + letter);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

test("letters typed while the answer to the first ones is being rendered are kept", async () => {
  const rest = ["0", "3", "9", "9", "9"];
  const place = document.body.appendChild(document.createElement("div"));
  const root = createRoot(place);
  const onRow = (value: string): void => {
    if (value === "") return;
    const letter = rest.shift();
    if (letter !== undefined) setImmediate(() => press(letter));
  };
  root.render(<Page onRow={onRow} />);
  await vi.waitFor(() => expect(document.querySelector("input")).not.toBeNull());
  press("0");
  await vi.waitFor(() => expect([rest.length, document.querySelector("output")?.textContent]).toEqual([0, "003999"]));
  expect(document.querySelector("input")?.value).toBe("003999");
  root.unmount();
});
