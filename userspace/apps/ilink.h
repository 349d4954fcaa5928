/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * A family tree with what is known of its members' genes (pedigree.c), for ilink.c.
 *
 * There are three loci: a gene that makes its bearer ill, and two markers that can be seen. A
 * haplotype is one allele for each; a person has two, in no order.
 */
#ifndef APP_ILINK_H
#define APP_ILINK_H

#include "app.h"

#define ILINK_LOCI 3
#define ILINK_CHILDREN_MAX 8
#define ILINK_NOBODY (-1)

enum { ILINK_ILLNESS, ILINK_MARKER_1, ILINK_MARKER_2 };

/**
 * struct person - a member of the tree
 * @spouse:   who married into the tree to this one, or ILINK_NOBODY
 * @child:    theirs
 * @children: their number
 * @founder:  the parents are not in the tree
 * @typed:    the markers were looked at
 * @ill:      the illness was seen
 * @seen:     at each locus, the alleles of both haplotypes
 */
struct person {
	int spouse;
	int child[ILINK_CHILDREN_MAX];
	int children;
	bool founder, typed, ill;
	unsigned char seen[ILINK_LOCI][2];
};

extern long ilink_alleles;	/* of a marker */

/* Alleles of a locus, and how frequent one of them is. */
size_t ilink_alleles_at(int locus);
double ilink_frequency(int locus, size_t allele);

/*
 * A tree of @generations below one couple, each couple with @children, those of the last generation
 * single. Of a couple the one of the tree comes first; parents come before children.
 */
struct person *ilink_pedigree(long generations, long children, long seed);
/* How many persons it has. */
size_t ilink_persons(long generations, long children);

/* The chance of what was seen of a person at one locus, if these are the alleles. */
double ilink_chance(const struct person *p, int locus, size_t one, size_t other);

/*
 * The likelihood of a large tree is smaller than any number, so those below each person are scaled: this is the power
 * of two by which they are divided, which changes no digit, so that the largest of @count is between 1/2 and 1.
 */
int ilink_exponent(const double *like, size_t count);

/* The logarithm of the likelihood of all that was seen at one locus, whatever the others are. */
double ilink_single(const struct person *person, size_t count, int locus);

/* linkage.c: pedfile.dat and datafile.dat of LINKAGE in the working directory. Both end the program if they cannot be written. */
void ilink_try_write(void);
void ilink_write(const struct person *person, size_t count, double theta, double between_markers);

#endif
