-- How the key of a profile is used to ask for temporary ones, JSON; null: it signs itself.
ALTER TABLE "Profile" ADD COLUMN "keyBy" TEXT;
