// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A family tree that looks random and is always the same: genes are handed down from the founders,
 * and some of them are seen. The likelihood at a single locus is the reference for unlinked loci.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ilink.h"

#define ILL_FREQUENCY 0.1
#define TYPED 0.6		/* share of the persons whose markers are known */
#define RECOMBINATION 0.1	/* between neighbouring loci, in this tree */

/* The chance to be ill, by the number of alleles that make ill. */
static const double penetrance[3] = { 0.05, 0.8, 0.9 };

long ilink_alleles;

size_t ilink_alleles_at(int locus)
{
	return locus == ILINK_ILLNESS ? 2 : (size_t)ilink_alleles;
}

double ilink_frequency(int locus, size_t allele)
{
	if (locus == ILINK_ILLNESS)
		return allele ? ILL_FREQUENCY : 1 - ILL_FREQUENCY;
	return 1.0 / (double)ilink_alleles;
}

double ilink_chance(const struct person *p, int locus, size_t one, size_t other)
{
	if (locus == ILINK_ILLNESS)
		return p->ill ? penetrance[one + other] : 1 - penetrance[one + other];
	if (!p->typed)
		return 1;
	return (p->seen[locus][0] == one && p->seen[locus][1] == other) ||
	       (p->seen[locus][0] == other && p->seen[locus][1] == one);
}

/* Numbers that were drawn of one sequence. */
struct draws {
	uint64_t seed, next;
};

static double chance(struct draws *drawn)
{
	return app_random(drawn->seed, drawn->next++);
}

static size_t draw_allele(int locus, struct draws *drawn)
{
	double rest = chance(drawn);
	size_t allele = 0;

	while (allele + 1 < ilink_alleles_at(locus) && rest >= ilink_frequency(locus, allele))
		rest -= ilink_frequency(locus, allele++);
	return allele;
}

/* One haplotype of a child: a parent's, with crossings over. */
static void hand_down(const struct person *parent, struct person *child, int side, struct draws *drawn)
{
	int from = chance(drawn) < 0.5;
	int locus;

	for (locus = 0; locus < ILINK_LOCI; locus++) {
		if (locus && chance(drawn) < RECOMBINATION)
			from = !from;
		child->seen[locus][side] = parent->seen[locus][from];
	}
}

static void finish(struct person *p, struct draws *drawn)
{
	int copies = p->seen[ILINK_ILLNESS][0] + p->seen[ILINK_ILLNESS][1];

	p->spouse = ILINK_NOBODY;
	p->typed = chance(drawn) < TYPED;
	p->ill = chance(drawn) < penetrance[copies];
}

static void make_founder(struct person *p, struct draws *drawn)
{
	int locus, side;

	p->founder = true;
	for (locus = 0; locus < ILINK_LOCI; locus++)
		for (side = 0; side < 2; side++)
			p->seen[locus][side] = (unsigned char)draw_allele(locus, drawn);
	finish(p, drawn);
}

size_t ilink_persons(long generations, long children)
{
	size_t born = 1, count = 1;

	for (; generations; generations--) {
		count += born;	/* spouses */
		born *= (size_t)children;
		count += born;
	}
	return count;
}

struct person *ilink_pedigree(long generations, long children, long seed)
{
	size_t persons = ilink_persons(generations, children);
	struct person *person = app_private(persons, sizeof(*person));
	struct draws drawn = { .seed = (uint64_t)seed };
	size_t count = 1, first = 0, end, i;
	long k, generation;

	memset(person, 0, persons * sizeof(*person));
	make_founder(&person[0], &drawn);
	/* Those of one generation are together, with the spouses behind them. */
	for (generation = 0; generation < generations; generation++) {
		end = count;
		for (i = first; i < end; i++) {
			person[i].spouse = (int)count++;
			make_founder(&person[person[i].spouse], &drawn);
		}
		for (i = first, first = count; i < end; i++) {
			person[i].children = (int)children;
			for (k = 0; k < children; k++) {
				struct person *child = &person[count];

				person[i].child[k] = (int)count++;
				hand_down(&person[i], child, 0, &drawn);
				hand_down(&person[person[i].spouse], child, 1, &drawn);
				finish(child, &drawn);
			}
		}
	}
	return person;
}

/* Below one person, given the alleles: what the children's generation says. @below has it of each. */
static double descend(const struct person *person, const struct person *p, int locus,
		      const double *below, size_t one, size_t other)
{
	const size_t n = ilink_alleles_at(locus);
	const struct person *spouse = &person[p->spouse];
	double sum = 0;
	size_t x, y;
	int k;

	for (x = 0; x < n; x++) {
		for (y = 0; y < n; y++) {
			double here = ilink_frequency(locus, x) * ilink_frequency(locus, y) *
				      ilink_chance(spouse, locus, x, y);

			for (k = 0; k < p->children; k++) {
				const double *child = below + (size_t)p->child[k] * n * n;

				here *= (child[one * n + x] + child[one * n + y] +
					 child[other * n + x] + child[other * n + y]) / 4;
			}
			sum += here;
		}
	}
	return sum;
}

int ilink_exponent(const double *like, size_t count)
{
	double most = 0;
	int exponent;
	size_t i;

	for (i = 0; i < count; i++)
		if (like[i] > most)
			most = like[i];
	frexp(most, &exponent);
	return exponent;
}

/* Makes the largest one near 1; the exponent of two that it takes. */
static int scale(double *like, size_t count)
{
	int exponent = ilink_exponent(like, count);
	size_t i;

	for (i = 0; i < count; i++)
		like[i] = ldexp(like[i], -exponent);
	return exponent;
}

double ilink_single(const struct person *person, size_t count, int locus)
{
	const size_t n = ilink_alleles_at(locus);
	double *below = app_private(count * n * n, sizeof(*below));
	double sum = 0;
	long exponents = 0;
	size_t i, x, y;

	for (i = count; i-- > 0;) {
		for (x = 0; x < n; x++) {
			for (y = 0; y < n; y++) {
				double *here = &below[(i * n + x) * n + y];

				*here = ilink_chance(&person[i], locus, x, y);
				if (person[i].children)
					*here *= descend(person, &person[i], locus, below, x, y);
				if (!i)
					sum += *here * ilink_frequency(locus, x) *
					       ilink_frequency(locus, y);
			}
		}
		if (i && person[i].children)
			exponents += scale(&below[i * n * n], n * n);
	}
	free(below);
	return log(sum) + (double)exponents * M_LN2;
}
