-- What a test found out of a store, people's notes, and prices of their own.
ALTER TABLE "Profile" ADD COLUMN "found" TEXT;
ALTER TABLE "Profile" ADD COLUMN "notes" TEXT NOT NULL DEFAULT '';
ALTER TABLE "Profile" ADD COLUMN "prices" TEXT;
