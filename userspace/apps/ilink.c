// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Ilink: how far apart a gene lies from markers, from what is seen of a family.
 *
 * R. Elston, J. Stewart, "A general model for the genetic analysis of pedigree data", Human
 * Heredity 21, 1971: the likelihood of a tree is found family by family, from the youngest on: a
 * family's children and one parent become a factor for each genotype of the other parent. S.
 * Dwarkadas et al., "Parallelization of general-linkage analysis problems", Human Heredity 44,
 * 1994: within a family, workers share out the genotypes that the parent can have. The distance
 * with the greatest likelihood is looked for by golden section: W. Press et al., "Numerical Recipes
 * in C", 2nd edition, section 10.1. Likelihoods are scaled person by person, as
 * FASTLINK does, and the logarithms of the scales added.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ilink.h"

#define GAMETES (1 << ILINK_LOCI)	/* which of both haplotypes is handed down, at each locus */
#define BETWEEN_MARKERS 0.1		/* recombination that is known */
#define UNLINKED 0.5
#define PARTS 100	/* of a family, for those who wait */

static long generations, children, evaluations, linkage, seed;

static struct state {
	double *seen;		/* by person and genotype: the chance of what was seen */
	double *like;		/* likewise, with all that is below the person */
	double *theta;		/* where it was evaluated */
	double *result;		/* logarithms of likelihoods; the last one of unlinked loci */
} s;

/* Each process has these for itself. */
static struct person *person;
static size_t persons;
static size_t haplotypes, genotypes;
static unsigned short (*gamete)[GAMETES];	/* haplotypes that a genotype hands down */
static double *frequency;			/* of haplotypes */

static const struct app_option options[] = {
	{ "generations", "generations below the first couple", &generations, 1, 6, { 2, 3, 3 } },
	{ "children", "of each couple", &children, 1, ILINK_CHILDREN_MAX, { 2, 3, 4 } },
	{ "alleles", "of each of two markers", &ilink_alleles, 2, 12, { 3, 5, 8 } },
	{ "evaluations", "likelihoods found in the search", &evaluations, 2, 1000, { 4, 12, 12 } },
	{ "seed", "which tree", &seed, 1, 1000000, { 1, 1, 1 } },
	{ "linkage", "1: write the tree into pedfile.dat and datafile.dat of LINKAGE", &linkage, 0, 1,
	  { 0, 0, 0 } },
	{ 0 }
};

static size_t genotype(size_t one, size_t other)
{
	return one > other ? one * (one + 1) / 2 + other : other * (other + 1) / 2 + one;
}

static size_t allele(size_t haplotype, int locus)
{
	int i;

	for (i = 0; i < locus; i++)
		haplotype /= ilink_alleles_at(i);
	return haplotype % ilink_alleles_at(locus);
}

/* What is handed down of two haplotypes; bit l of @mask: locus l is the second one's. */
static size_t cross(size_t one, size_t other, int mask)
{
	size_t haplotype = 0;
	int locus;

	for (locus = ILINK_LOCI - 1; locus >= 0; locus--)
		haplotype = haplotype * ilink_alleles_at(locus) +
			    allele(mask >> locus & 1 ? other : one, locus);
	return haplotype;
}

static void make_tables(void)
{
	size_t one, other;
	int locus, mask;

	/* Before any work, and not after it. */
	if (linkage && app_is_first())
		ilink_try_write();
	free(person);
	free(gamete);
	free(frequency);
	person = ilink_pedigree(generations, children, seed);
	gamete = app_private(genotypes, sizeof(*gamete));
	frequency = app_private(haplotypes, sizeof(*frequency));
	for (one = 0; one < haplotypes; one++) {
		frequency[one] = 1;
		for (locus = 0; locus < ILINK_LOCI; locus++)
			frequency[one] *= ilink_frequency(locus, allele(one, locus));
		for (other = 0; other <= one; other++)
			for (mask = 0; mask < GAMETES; mask++)
				gamete[genotype(one, other)][mask] =
					(unsigned short)cross(one, other, mask);
	}
}

static void layout(void)
{
	int locus;

	haplotypes = 1;
	for (locus = 0; locus < ILINK_LOCI; locus++)
		haplotypes *= ilink_alleles_at(locus);
	genotypes = haplotypes * (haplotypes + 1) / 2;
	persons = ilink_persons(generations, children);
	s.seen = app_alloc(persons, genotypes * sizeof(double));
	s.like = app_alloc(persons, genotypes * sizeof(double));
	s.theta = app_alloc((size_t)evaluations + 1, sizeof(double));
	s.result = app_alloc((size_t)evaluations + 1, sizeof(double));
}

/* Of founders with the chance of the genotype itself. */
static double chance(const struct person *p, size_t one, size_t other)
{
	double product = 1;
	int locus;

	for (locus = 0; locus < ILINK_LOCI; locus++)
		product *= ilink_chance(p, locus, allele(one, locus), allele(other, locus));
	if (p->founder)
		product *= frequency[one] * frequency[other] * (one == other ? 1 : 2);
	return product;
}

static void fill(const struct app_worker *w)
{
	size_t i, end, one, other;

	app_share(persons, w->id, w->count, &i, &end);
	for (; i < end; i++) {
		for (one = 0; one < haplotypes; one++) {
			for (other = 0; other <= one; other++) {
				size_t at = i * genotypes + genotype(one, other);

				s.seen[at] = chance(&person[i], one, other);
				s.like[at] = s.seen[at];
			}
		}
		app_progress(w, (long)i + 1, (long)end);
	}
}

/**
 * struct family - what a worker needs of one family
 * @parent: the one for whose genotypes factors are found
 * @part:   of each gamete, its chance
 * @to:     likewise by child, times the power of two that brings the likelihoods below the child near 1
 * @done:   for app_progress(): parts of a family so far, of @total
 * @exponents: of these powers, summed up over the families so far; negated
 * @spouse: genotypes that the other parent can have
 * @spouses: their number
 * @from:   for one genotype of the parent, by child and haplotype of the other parent: the
 *          likelihood of all below the child
 */
struct family {
	const struct person *parent;
	double part[GAMETES];
	double to[ILINK_CHILDREN_MAX][GAMETES];
	long exponents;
	long done, total;
	unsigned int *spouse;
	size_t spouses;
	double *from;
};

/* Half for the first locus; then each neighbour is from the same haplotype or is not. */
static void set_parts(struct family *f, double theta, double between_markers)
{
	int mask;

	for (mask = 0; mask < GAMETES; mask++)
		f->part[mask] = 0.5 * ((mask ^ mask >> 1) & 1 ? theta : 1 - theta) *
				((mask >> 1 ^ mask >> 2) & 1 ? between_markers : 1 - between_markers);
}

/* Of children who have children: what was seen of a single person is not that unlikely. */
static void scale(struct family *f)
{
	int k, exponent, mask;

	for (k = 0; k < f->parent->children; k++) {
		size_t child = (size_t)f->parent->child[k];

		exponent = person[child].children ? ilink_exponent(s.like + child * genotypes, genotypes) : 0;
		for (mask = 0; mask < GAMETES; mask++)
			f->to[k][mask] = ldexp(f->part[mask], -exponent);
		f->exponents += exponent;
	}
}

static void find_from(struct family *f, size_t g)
{
	size_t other;
	int k, mask;

	for (k = 0; k < f->parent->children; k++) {
		const double *child = s.like + (size_t)f->parent->child[k] * genotypes;
		double *from = f->from + (size_t)k * haplotypes;

		for (other = 0; other < haplotypes; other++) {
			from[other] = 0;
			for (mask = 0; mask < GAMETES; mask++)
				from[other] += f->to[k][mask] * child[genotype(gamete[g][mask], other)];
		}
	}
}

/* The chance of all below a couple, whatever the spouse's genotype. */
static double sum_spouse(const struct family *f)
{
	const double *seen = s.seen + (size_t)f->parent->spouse * genotypes;
	double sum = 0;
	size_t i;
	int k, mask;

	for (i = 0; i < f->spouses; i++) {
		const unsigned short *hands = gamete[f->spouse[i]];
		double product = seen[f->spouse[i]];

		for (k = 0; k < f->parent->children; k++) {
			const double *from = f->from + (size_t)k * haplotypes;
			double child = 0;

			for (mask = 0; mask < GAMETES; mask++)
				child += f->part[mask] * from[hands[mask]];
			product *= child;
		}
		sum += product;
	}
	return sum;
}

/* Genotypes of a person that what was seen allows. */
static size_t find_possible(const struct person *p, unsigned int *list)
{
	const double *seen = s.seen + (size_t)(p - person) * genotypes;
	size_t g, count = 0;

	for (g = 0; g < genotypes; g++)
		if (seen[g] > 0)
			list[count++] = (unsigned int)g;
	return count;
}

static void peel(const struct app_worker *w, struct family *f, unsigned int *possible)
{
	size_t person_at = (size_t)(f->parent - person) * genotypes;
	size_t count = find_possible(f->parent, possible);
	size_t begin, i, end;

	f->spouses = find_possible(&person[f->parent->spouse], f->spouse);
	scale(f);
	app_share(count, w->id, w->count, &begin, &end);
	for (i = begin; i < end; i++) {
		size_t g = possible[i];

		find_from(f, g);
		s.like[person_at + g] = s.seen[person_at + g] * sum_spouse(f);
		app_progress(w, f->done + (long)((PARTS * (i + 1 - begin) + end - begin - 1) / (end - begin)), f->total);
	}
	f->done += PARTS;
	app_barrier(w);
}

/* The logarithm of the likelihood of the tree; every worker finds the same. */
static double evaluate(const struct app_worker *w, struct family *f, unsigned int *possible)
{
	double sum = 0;
	size_t i, g;

	f->exponents = 0;
	for (i = persons; i-- > 0;) {
		if (!person[i].children)
			continue;
		f->parent = &person[i];
		peel(w, f, possible);
	}
	for (g = 0; g < genotypes; g++)
		sum += s.like[g];
	app_barrier(w);	/* until all have seen it */
	return log(sum) + (double)f->exponents * M_LN2;
}

static void work(const struct app_worker *w)
{
	const double golden = (sqrt(5) - 1) / 2;
	unsigned int *possible = app_private(genotypes, sizeof(*possible));
	struct family f = {
		.spouse = app_private(genotypes, sizeof(*f.spouse)),
		.from = app_private((size_t)children * haplotypes, sizeof(*f.from)),
	};
	double low = 0.001, high = UNLINKED, theta[2], like[2] = { 0, 0 };
	size_t p;
	long i;
	int next;

	for (p = 0; p < persons; p++)
		f.total += person[p].children ? PARTS * (evaluations + 1) : 0;
	for (i = 0; i <= evaluations; i++) {
		/* Of two points inside, the better one stays and is the other end's point of the rest. */
		if (i >= 2 && like[0] > like[1]) {
			high = theta[1];
			theta[1] = theta[0];
			like[1] = like[0];
			next = 0;
		} else if (i >= 2) {
			low = theta[0];
			theta[0] = theta[1];
			like[0] = like[1];
			next = 1;
		} else {
			next = (int)i;
		}
		theta[next] = next ? low + golden * (high - low) : high - golden * (high - low);
		if (i < evaluations)
			set_parts(&f, theta[next], BETWEEN_MARKERS);
		else
			set_parts(&f, UNLINKED, UNLINKED);
		like[next] = evaluate(w, &f, possible);
		if (!w->id) {
			s.theta[i] = i < evaluations ? theta[next] : UNLINKED;
			s.result[i] = like[next];
		}
	}
	free(f.from);
	free(f.spouse);
	free(possible);
}

/* Where the likelihood is greatest, of what was evaluated. */
static long find_best(void)
{
	long i, best = 0;

	for (i = 1; i < evaluations; i++)
		if (s.result[i] > s.result[best])
			best = i;
	return best;
}

static const char *tell(void)
{
	long best = find_best();

	if (linkage)
		ilink_write(person, persons, s.theta[best], BETWEEN_MARKERS);
	return app_text("theta=%.6g ln_likelihood=%.10g", s.theta[best], s.result[best]);
}

/* Unlinked loci are independent: their likelihoods multiply. Of the others only that they are numbers is known. */
static const char *right(void)
{
	double product = 0;
	int locus;
	long i;

	for (i = 0; i <= evaluations; i++)
		if (!isfinite(s.theta[i]) || !isfinite(s.result[i]))
			return app_text("likelihood %ld of %g is %g", i, s.theta[i], s.result[i]);
	for (locus = 0; locus < ILINK_LOCI; locus++)
		product += ilink_single(person, persons, locus);
	return app_distance(product, s.result[evaluations], 0) < 1e-11 ? NULL :
	       app_text("the likelihood of unlinked loci is exp(%.12g), not exp(%.12g)",
			s.result[evaluations], product);
}

static const char *same(const void *shared)
{
	const struct state *theirs = shared;
	size_t bytes = ((size_t)evaluations + 1) * sizeof(double);

	if (memcmp(theirs->theta, s.theta, bytes))
		return "a distance differs";
	return memcmp(theirs->result, s.result, bytes) ? "a likelihood differs" : NULL;
}

static uint64_t sum(void)
{
	size_t bytes = ((size_t)evaluations + 1) * sizeof(double);

	return app_sum(app_sum(0, s.theta, bytes), s.result, bytes);
}

const struct app_program app_program = {
	.name = "ilink",
	.what = "Genetic linkage: the likelihood of a family tree.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "unlinked loci multiply, equal to the sequential run, bit for bit",
	.layout = layout,
	.tables = make_tables,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.sum = sum,
	.tell = tell,
};
