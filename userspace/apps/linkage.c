// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The family tree and its loci in the files of LINKAGE, whose programs find the same likelihoods.
 *
 * J. Terwilliger, J. Ott, "Handbook of Human Genetic Linkage", 1994: pedfile.dat as makeped leaves
 * it, datafile.dat for MLINK.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ilink.h"

#define PEDFILE "pedfile.dat"
#define DATAFILE "datafile.dat"

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		app_die("%s: %s", path, strerror(errno));
	return f;
}

static void finish(FILE *f, const char *path)
{
	if (ferror(f) || fclose(f))
		app_die("%s: cannot be written", path);
}

/* Leaves what is there as it is. */
static void try_write(const char *path)
{
	FILE *f = fopen(path, "a");

	if (!f)
		app_die("%s: %s", path, strerror(errno));
	fclose(f);
}

void ilink_try_write(void)
{
	try_write(PEDFILE);
	try_write(DATAFILE);
}

/* A person's number in the files; 0: nobody. */
static int number(int i)
{
	return i + 1;
}

/* Whose child a person is: the parent of the tree, or ILINK_NOBODY; and who is born next to them. */
static int parent_of(const struct person *person, size_t count, int i, int *next)
{
	size_t parent;
	int k;

	*next = ILINK_NOBODY;
	for (parent = 0; parent < count; parent++) {
		for (k = 0; k < person[parent].children; k++) {
			if (person[parent].child[k] != i)
				continue;
			if (k + 1 < person[parent].children)
				*next = person[parent].child[k + 1];
			return (int)parent;
		}
	}
	return ILINK_NOBODY;
}

static int first_child(const struct person *person, size_t count, int i)
{
	size_t k;

	if (person[i].children)
		return person[i].child[0];
	for (k = 0; k < count; k++)
		if (person[k].spouse == i && person[k].children)
			return person[k].child[0];
	return ILINK_NOBODY;
}

/* Whoever is of the tree is a father, who married in is a mother: no locus asks for the sex. */
static void write_person(FILE *f, const struct person *person, size_t count, int i)
{
	const struct person *p = &person[i];
	int next, locus;
	int parent = parent_of(person, count, i, &next);
	bool married_in = p->founder && i;

	fprintf(f, "1 %d %d %d %d %d %d %d %d", number(i), number(parent),
		parent == ILINK_NOBODY ? 0 : number(person[parent].spouse),
		number(first_child(person, count, i)), number(next), number(next),
		married_in ? 2 : 1, !i);
	fprintf(f, " %d", p->ill ? 2 : 1);
	for (locus = ILINK_MARKER_1; locus < ILINK_LOCI; locus++)
		fprintf(f, " %d %d", p->typed ? p->seen[locus][0] + 1 : 0,
			p->typed ? p->seen[locus][1] + 1 : 0);
	fputc('\n', f);
}

static void write_frequencies(FILE *f, int locus)
{
	size_t allele;

	for (allele = 0; allele < ilink_alleles_at(locus); allele++)
		fprintf(f, "%.17g ", ilink_frequency(locus, allele));
	fputc('\n', f);
}

void ilink_write(const struct person *person, size_t count, double theta, double between_markers)
{
	struct person ill = { .ill = true };
	FILE *f = create(PEDFILE);
	size_t i;
	int locus;

	for (i = 0; i < count; i++)
		write_person(f, person, count, (int)i);
	finish(f, PEDFILE);

	f = create(DATAFILE);
	fprintf(f, "%d 0 0 5\n0 0.0 0.0 0\n1 2 3\n", ILINK_LOCI);
	fprintf(f, "1 2\n");
	write_frequencies(f, ILINK_ILLNESS);
	fprintf(f, "1\n%.17g %.17g %.17g\n", ilink_chance(&ill, ILINK_ILLNESS, 0, 0),
		ilink_chance(&ill, ILINK_ILLNESS, 0, 1), ilink_chance(&ill, ILINK_ILLNESS, 1, 1));
	for (locus = ILINK_MARKER_1; locus < ILINK_LOCI; locus++) {
		fprintf(f, "3 %zu\n", ilink_alleles_at(locus));
		write_frequencies(f, locus);
	}
	/* No difference between the sexes, no interference; one likelihood only. */
	fprintf(f, "0 0\n%.17g %.17g\n1 1 0.5\n", theta, between_markers);
	finish(f, DATAFILE);
}
