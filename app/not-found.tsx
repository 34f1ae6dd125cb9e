import { Link } from "./_ui/navigation/link.tsx";

export default function NotFound() {
  return (
    <main className="mx-auto max-w-[680px] px-4 pt-[16vh]">
      <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">There is no such page.</h1>
      <p className="mt-1 text-soft">
        The address may be mistyped, or what it named is gone.{" "}
        <Link href="/" className="font-mid text-ink underline">
          To the overview
        </Link>
      </p>
    </main>
  );
}
